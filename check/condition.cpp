#include "gradus/check/condition.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gradus/check/raw/random.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"

namespace gradus::check {
namespace {

/// Relative change of the inputs with which Trial::sensitivity() is measured.
constexpr double kNudge = 0x1p-30;

double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double apart = std::abs(a - b);
  return std::isnan(apart) ? INFINITY : apart;
}

std::pair<double, std::size_t> worst_of(const Values& a, const Values& b) {
  std::pair<double, std::size_t> worst{0, 0};
  for (std::size_t j = 0; j < a.size(); ++j)
    if (const double apart = distance(a[j], b[j]); apart >= worst.first) worst = {apart, j};
  return worst;
}

/// Copies a result, because a later run may overwrite its buffers.
Outcome copied(const Outcome& r) {
  return {kernel::copy(r.y),
          for_each_defined(r.dx, [&](std::size_t k) { return kernel::copy(r.dx[k]); })};
}

}  // namespace

Tensor other_numbers(const Tensor& like, std::uint64_t seed) {
  Random random(seed);
  Values values(static_cast<std::size_t>(like.numel()));
  for (double& v : values) v = random.upstream();
  return kernel::convert(tensor(values, like.shape()), like.dtype());
}

Tensors nudged(const Tensors& x, const Flags& wanted, double share, std::uint64_t seed) {
  Random random(seed);
  Tensors out = x;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (!wanted[k]) continue;
    Values values = numbers(x[k]);
    for (double& v : values) v *= 1 + share * random.upstream() / 2;
    out[k] = kernel::convert(tensor(values, x[k].shape()), x[k].dtype());
  }
  return out;
}

Trial::Trial(const CheckedTensorFunction& function, const RowSum& r, Report& to, Tensors at,
             Tensor upstream)
    : f(function),
      rows(r),
      report(to),
      x(std::move(at)),
      dy(std::move(upstream)),
      base(copied(f.run(x, dy))) {}

/// Returns the change of gradient k (or of y for k = x.size()) per relative change of the inputs.
double Trial::sensitivity(std::size_t k) {
  if (sensitivity_.empty()) {
    const Outcome moved = f.run(nudged(x, f.wanted(), kNudge), dy);
    const auto add_change = [this](const Tensor& now, const Tensor& before) {
      const double change = before.defined() ? worst_of(numbers(now), numbers(before)).first : 0;
      sensitivity_.push_back(std::isfinite(change) ? change
                                                   : 0);  // not finite at the edge of a domain
    };
    for (std::size_t i = 0; i < x.size(); ++i) add_change(moved.dx[i], base.dx[i]);
    add_change(moved.y, base.y);
  }
  return sensitivity_[k] / kNudge;
}

/// Returns the magnitude of the terms of gradient k, |dy| |y| / |x|. It exceeds the gradient if
/// terms cancel.
double Trial::size_of_terms(std::size_t k) const {
  if (k >= x.size()) return 0;
  const double unit = rms(numbers(x[k]));
  const double weight = largest_of(numbers(dy));
  return weight * largest_of(numbers(base.y)) / (unit > 1e-100 ? unit : 1.0);
}

double Trial::carried(std::size_t k) { return sensitivity(k) + size_of_terms(k); }

/// Sums of n terms in two orders differ by √n roundings of 2⁻⁵². The factor 64 allows for a
/// sequence of ops. size_of_terms covers terms that cancel. sensitivity covers intermediate
/// roundings, which act like changes of the inputs. k = x.size() compares y.
bool Trial::compare(const std::string& what, const Cause& cause, std::size_t k, const Tensor& found,
                    const Tensor& expected) {
  const std::size_t input = k < x.size() ? k : 0;
  const std::string name = k < x.size() ? "d" + f.options.names[k] : "out";
  if (found.shape() != expected.shape()) {
    add(input, cause,
        what + ": " + name + str_cat(" is ", found.shape(), ", not ", expected.shape()));
    return false;
  }
  const Values a = numbers(found), b = numbers(expected);
  const auto [apart, worst] = worst_of(a, b);
  const double largest = largest_of(b);
  // Avoids the bound below, which costs another run.
  if (apart <= 0x1p-46 * largest) return true;
  std::int64_t count = base.y.numel();
  for (const Tensor& each : x) count = std::max(count, each.numel());
  const double roundings = 64 * std::sqrt(static_cast<double>(count)) * 0x1p-52;
  if (std::isfinite(apart) &&
      apart <= roundings * (std::max(largest, size_of_terms(k)) + sensitivity(k)))
    return true;
  add(input, cause,
      what + ": " + indexed(name, index_of(worst, sizes_of(found))) + " is " +
          number(a[worst], 10) + ", not " + number(b[worst], 10));
  return false;
}

bool Trial::equal(const std::string& what, const Cause& cause, const Run& run,
                  const Outcome& expected) {
  ++report.counts.conditions;
  const GradMode recorded(true);
  try {
    const Outcome found = run();
    bool right = !found.y.defined() || compare(what, cause, x.size(), found.y, expected.y);
    for (std::size_t k = 0; k < found.dx.size(); ++k)
      if (found.dx[k].defined() && expected.dx[k].defined())
        right = compare(what, cause, k, found.dx[k], expected.dx[k]) && right;
    return right;
  } catch (const std::exception& error) {
    add(0, cause, what + " the function throws: " + error.what());
    return false;
  }
}

void Trial::add(std::size_t input, const Cause& cause, const std::string& note) {
  const auto count = std::count_if(
      report.findings.begin(), report.findings.end(),
      [&](const Finding& each) { return each.kind == Kind::condition && each.input == input; });
  if (count >= 3 || (count > 0 && report.inputs[input].cause.name == cause.name))
    return;  // report one finding per cause
  report.add(Kind::condition, input, note, cause);
}

void check_conditions(const CheckedTensorFunction& function, const RowSum& rows, Report& report) {
  const auto structural = [](const Finding& f) { return f.kind == Kind::structure; };
  if (std::any_of(report.findings.begin(), report.findings.end(), structural)) return;
  const Tensor dy = other_numbers(function.output, function.options.seed + 100);
  Trial trial(function, rows, report, function.inputs, dy);
  const std::size_t before = report.findings.size();
  check_side_effects(trial);
  if (report.findings.size() == before) {  // otherwise results are not reproducible
    check_layouts(trial);
    check_accumulation(trial);
    check_precision(trial);
  }
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.input < b.input; });
}

}  // namespace gradus::check
