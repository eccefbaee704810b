// Which conditions are looked at, how two gradients are compared, and what is said of a difference.
#include "gradus/check/condition.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "gradus/check/raw/random.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"

namespace gradus::check {
namespace {

/// The largest difference, NaN counting as equal to NaN.
double distance(const core::Values& a, const core::Values& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double apart = std::abs(a[i] - b[i]);
    most = std::isnan(apart) ? std::numeric_limits<double>::infinity() : std::max(most, apart);
  }
  return most;
}

/// Nobody else's numbers: a later run may write to what an earlier one gave.
Answer copied(Answer answer) {
  answer.y = kernel::copy(answer.y);
  for (Tensor& d : answer.dx)
    if (d.defined()) d = kernel::copy(d);
  return answer;
}

/// A report whose functions cannot even be called again: nothing to compare conditions with.
bool beyond_conditions(const Report& report) {
  return std::any_of(report.findings.begin(), report.findings.end(),
                     [](const core::Finding& f) { return f.kind == core::Kind::structure; });
}

}  // namespace

Tensor other_numbers(const Tensor& like, std::uint64_t seed) {
  core::Random random(seed);
  core::Values values(static_cast<std::size_t>(like.numel()));
  for (double& v : values) v = random.upstream();
  return kernel::convert(from(values, like.shape()), like.dtype());
}

Tensors nudged(const Tensors& x, const Flags& wanted, double share, std::uint64_t seed) {
  core::Random random(seed);
  Tensors out = x;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (!wanted[k]) continue;
    core::Values values = numbers(x[k]);
    for (double& v : values) v *= 1 + share * random.upstream() / 2;
    out[k] = kernel::convert(from(values, x[k].shape()), x[k].dtype());
  }
  return out;
}

double size_of_terms(const Tensor& dy, const Tensor& y, const Tensor& x) {
  const double unit = core::rms(numbers(x));
  double weight = 0;
  for (const double v : numbers(dy)) weight = std::max(weight, std::abs(v));
  return weight * core::largest_of(numbers(y)) / (unit > 1e-100 ? unit : 1.0);
}

Trial::Trial(const Subject& s, const Rows& r, Report& to, Tensors at, Tensor upstream)
    : subject(s),
      rows(r),
      report(to),
      x(std::move(at)),
      dy(std::move(upstream)),
      base(copied(s.answer(x, dy))) {}

const std::vector<double>& Trial::sensitivity() {
  if (!sensitivity_.empty()) return sensitivity_;
  const Answer moved = subject.answer(nudged(x, subject.wanted(), kNudge), dy);
  const auto add_change = [this](const Tensor& now, const Tensor& before) {
    const double change = before.defined() ? distance(numbers(now), numbers(before)) : 0;
    sensitivity_.push_back(std::isfinite(change) ? change : 0);  // else: a domain's edge
  };
  for (std::size_t k = 0; k < x.size(); ++k) add_change(moved.dx[k], base.dx[k]);
  add_change(moved.y, base.y);
  return sensitivity_;
}

/// Two orders of the same n additions differ by √n roundings of what is added, 2⁻⁵² each; 64 leaves
/// room for the operations in a row. Terms that cancel are larger than their sum (size_of_terms),
/// and roundings on the way are like small changes of the inputs (sensitivity).
double Trial::allowed(std::size_t k, double largest) {
  std::int64_t count = base.y.numel();
  for (const Tensor& each : x) count = std::max(count, each.numel());
  const double roundings = 64 * std::sqrt(static_cast<double>(count)) * 0x1p-52;
  const double terms = k < x.size() ? size_of_terms(dy, base.y, x[k]) : 0;
  return roundings * (std::max(largest, terms) + sensitivity()[k] / kNudge);
}

bool Trial::compare(const std::string& what, const core::Cause& cause, std::size_t k,
                    const Tensor& found, const Tensor& expected) {
  const bool of_y = k >= x.size();
  const std::string name = of_y ? "out" : "d" + subject.options.names[k];
  if (found.shape() != expected.shape()) {
    add(of_y ? 0 : k, cause,
        what + ": " + name + text(" is ", found.shape(), ", not ", expected.shape()));
    return false;
  }
  const core::Values a = numbers(found), b = numbers(expected);
  const double apart = distance(a, b), largest = core::largest_of(b);
  // The bound costs a run; most differences are far below any.
  if (apart <= 0x1p-46 * largest) return true;
  if (std::isfinite(apart) && apart <= allowed(k, largest)) return true;
  std::size_t worst = 0;
  for (std::size_t j = 0; j < a.size(); ++j)
    if (distance({a[j]}, {b[j]}) >= distance({a[worst]}, {b[worst]})) worst = j;
  const core::Shape at = core::place(static_cast<std::int64_t>(worst), sizes_of(found));
  add(of_y ? 0 : k, cause,
      what + ": " + core::indexed(name, at) + " is " + core::number(a[worst], 10) + ", not " +
          core::number(b[worst], 10));
  return false;
}

bool Trial::equal(const std::string& what, const core::Cause& cause, const Run& run,
                  const Answer& expected) {
  ++report.counts.conditions;
  try {
    const Answer found = run();
    bool right = !found.y.defined() || compare(what, cause, x.size(), found.y, expected.y);
    for (std::size_t k = 0; k < found.dx.size(); ++k)
      if (found.dx[k].defined() && expected.dx[k].defined())
        right = compare(what, cause, k, found.dx[k], expected.dx[k]) && right;
    return right;
  } catch (const std::exception& error) {
    add(0, cause, what + " it throws: " + error.what());
    return false;
  }
}

bool Trial::same(const std::string& what, const core::Cause& cause, const Run& run) {
  return equal(what, cause, run, base);
}

void Trial::add(std::size_t input, const core::Cause& cause, const std::string& note) {
  core::InputSummary& summary = report.inputs[input];
  const auto told = [&](const core::Finding& f) {
    return f.kind == core::Kind::condition && f.input == input;
  };
  const auto count = std::count_if(report.findings.begin(), report.findings.end(), told);
  if (count >= 3 || (count > 0 && summary.cause.name == cause.name)) return;  // one tells it
  report.add(
      {.kind = core::Kind::condition, .input = input, .input_name = summary.name, .note = note});
  if (summary.cause.name.empty()) summary.cause = cause;
}

void check_conditions(const Subject& subject, const Rows& rows, Report& report) {
  if (beyond_conditions(report)) return;
  const Tensor dy = other_numbers(subject.output, subject.options.seed + 100);
  Trial trial(subject, rows, report, subject.inputs, dy);
  const std::size_t before = report.findings.size();
  check_manners(trial);
  if (report.findings.size() == before) {  // what changes from run to run has no other conditions
    check_layouts(trial);
    check_accumulation(trial);
    check_precision(trial);
  }
  std::stable_sort(
      report.findings.begin(), report.findings.end(),
      [](const core::Finding& a, const core::Finding& b) { return a.input < b.input; });
}

}  // namespace gradus::check
