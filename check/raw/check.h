// Is this vector-Jacobian product the derivative of that function? Needs the standard library only.
//
//   auto forward = [](const Arguments& in) { return my_softmax(in[0]); };
//   auto vjp = [](const Arguments& in, const Values& dy) {
//     return Arguments{my_softmax_backward(in[0], dy)};
//   };
//   Report report = check_vjp("my_softmax", forward, vjp, {{"x", {2, 3}, x}});
//   if (!report) std::cerr << report;
//
// For each probe w (probe.h) vjp(x, w) is compared with wᵀJ; the columns of J are measured by
// differences (differences.h) and judged by the rule in verdict.h. What disagrees is measured again
// with all steps before it is called wrong.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gradus/check/raw/compare.h"
#include "gradus/check/raw/differences.h"
#include "gradus/check/raw/options.h"
#include "gradus/check/raw/probe.h"
#include "gradus/check/raw/random.h"
#include "gradus/check/raw/report.h"
#include "gradus/check/raw/subject.h"
#include "gradus/check/raw/verdict.h"

namespace gradus::check::raw {

/// One run of check_vjp.
class VjpCheck {
 public:
  VjpCheck(const std::string& name, Forward forward, Vjp vjp, std::vector<Input> inputs,
           Options options)
      : subject_(std::move(forward), std::move(vjp), completed(name, std::move(inputs))),
        options_(std::move(options)) {
    report_.name = name;
    report_.seed = options_.seed;
    for (const Input& input : subject_.inputs()) {
      InputSummary summary;
      summary.name = input.name;
      summary.shape = input.shape;
      summary.differentiable = input.differentiable;
      summary.elements = static_cast<std::int64_t>(input.values.size());
      report_.inputs.push_back(summary);
    }
  }

  Report run() {
    try {
      subject_.measure_output();
      look_at_output();
      ask();
      for (std::size_t k = 0; k < report_.inputs.size(); ++k) {
        if (report_.inputs[k].differentiable) compare(k);
      }
    } catch (const Stop& stop) {
      report_.verdict = graver(report_.verdict, stop.verdict);
      report_.notes.push_back(stop.note);
    }
    report_.counts = subject_.counts();
    return report_;
  }

 private:
  std::size_t outputs() const { return subject_.output().size(); }

  void look_at_output() {
    const auto count = static_cast<std::int64_t>(outputs());
    if (options_.output_shape.empty() && count != 1) options_.output_shape = {count};
    if (count_of(options_.output_shape) != count) {
      throw BadInput(report_.name + ": output_shape " + list(options_.output_shape) +
                     " does not fit the " + std::to_string(count) + " values of forward");
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const double y = subject_.output()[static_cast<std::size_t>(i)];
      if (std::isfinite(y)) continue;
      report_.verdict = graver(report_.verdict, Verdict::inconclusive);
      report_.notes.push_back("forward gives " + number(y, 3) + " at out" +
                              list(place(i, options_.output_shape)) +
                              "; no derivative can be measured there");
      return;
    }
  }

  /// Zeros must give zeros; 0·inf is forgiven only where the function itself has no derivative.
  void check_zero_upstream(std::size_t k, const Numeric& numeric) {
    const Values& dx = zero_[k];
    const auto bad = std::find_if(dx.begin(), dx.end(), [](double v) { return !(v == 0); });
    if (bad == dx.end()) return;
    const auto j = static_cast<std::size_t>(bad - dx.begin());
    Finding finding = located(k, report_.inputs[k], j);
    finding.kind = Kind::zero_upstream;
    finding.analytic = *bad;
    finding.note = std::isfinite(*bad) ? "Does every term contain dy?"
                                       : "0 times infinity, or a value never written?";
    const bool forgiven = !std::isfinite(*bad) && numeric.blind(j);
    finding.verdict = forgiven ? Verdict::inconclusive : Verdict::fail;
    report_.add(std::move(finding));
  }

  /// The derivative under test, for zeros and for every probe.
  void ask() {
    zero_ = subject_.vjp(Values(outputs(), 0.0), report_);
    const auto count = static_cast<std::int64_t>(outputs());
    std::int64_t elements = 0;
    for (const InputSummary& input : report_.inputs) elements += input.elements;
    const bool small = count <= 64 && count * elements <= 1'000'000;
    full_ = options_.mode == Mode::full || (options_.mode == Mode::automatic && small) ||
            count <= options_.rows;
    Random random(options_.seed);
    probes_ = make_probes(count, full_ ? count : options_.rows, options_.projections, random);
    for (const Probe& probe : probes_) {
      analytic_.push_back(subject_.vjp(probe.upstream(outputs()), report_));
    }
    if (full_) return;
    report_.notes.push_back("the Jacobian was sampled: " + std::to_string(options_.rows) +
                            " of its " + std::to_string(count) + " rows, and " +
                            std::to_string(options_.projections) + " weighted sums of all rows");
  }

  std::vector<Slope> measure(std::size_t k, std::size_t j, double scale, bool thorough) {
    return subject_.column_of(k, j, {options_.tolerance(), options_.steps, scale, thorough});
  }

  Numeric measure_all(std::size_t k) {
    Numeric result;
    double largest = 0;
    for (std::size_t j = 0; j < subject_.inputs()[k].values.size(); ++j) {
      const std::vector<Slope> column = measure(k, j, largest, false);
      largest = largest_clear(column, largest, options_.tolerance());
      result.append(column, probes_, options_.tolerance());
    }
    return result;
  }

  void compare(std::size_t k) {
    InputSummary& summary = report_.inputs[k];
    Numeric numeric = measure_all(k);
    check_zero_upstream(k, numeric);
    summary.compared = summary.elements * static_cast<std::int64_t>(probes_.size());
    std::vector<Candidate> candidates;
    for (std::size_t j = 0; j < numeric.slopes.size(); ++j) {
      Candidate worst = judge_element(k, j, numeric);
      if (worst.finding.verdict != Verdict::pass) {
        const std::vector<Slope> column = measure(k, j, numeric.row_scale, true);
        for (std::size_t p = 0; p < probes_.size(); ++p) {
          numeric.slopes[j][p] = contract(column, probes_[p]);
        }
        worst = judge_element(k, j, numeric);
      }
      if (worst.finding.verdict == Verdict::pass) continue;
      report_.verdict = graver(report_.verdict, worst.finding.verdict);
      ++(worst.finding.verdict == Verdict::fail ? summary.wrong : summary.unseen);
      candidates.push_back(std::move(worst));
    }
    add_worst(k, std::move(candidates), numeric);
    for (const std::string& note : notes_about(summary, numeric, options_.tolerance())) {
      report_.notes.push_back(note);
    }
  }

  /// The gravest of one element's comparisons.
  Candidate judge_element(std::size_t k, std::size_t j, const Numeric& numeric) const {
    Candidate worst;
    worst.finding.verdict = Verdict::pass;
    for (std::size_t p = 0; p < probes_.size(); ++p) {
      const Probe& probe = probes_[p];
      const Slope& n = numeric.slopes[j][p];
      const double a = analytic_[p][k][j];
      Judgement result = judge(a, n, numeric.scale(probe), options_.tolerance());
      if (result.verdict == Verdict::pass) continue;
      if (!std::isfinite(a) && numeric.blind(j)) result.verdict = Verdict::inconclusive;
      // Where all rows are compared, a sum of them that cannot be seen takes nothing away.
      if (full_ && probe.dense() && result.verdict == Verdict::inconclusive) continue;
      Candidate now{located(k, report_.inputs[k], j), j, p, result.error / result.allowed};
      describe_numbers(now.finding, a, n, probe, result);
      if (!probe.dense()) now.finding.output = place(probe.row, options_.output_shape);
      if (!std::isfinite(now.excess)) now.excess = std::numeric_limits<double>::max();
      if (worst.excess < 0 || graver_than(now, worst)) worst = std::move(now);
    }
    return worst;
  }

  void add_worst(std::size_t k, std::vector<Candidate> candidates, const Numeric& numeric) {
    std::stable_sort(candidates.begin(), candidates.end(), graver_than);
    if (candidates.size() > options_.findings) candidates.resize(options_.findings);
    for (Candidate& candidate : candidates) {
      const Finding& finding = candidate.finding;
      if (finding.kind == Kind::projection && finding.verdict == Verdict::fail) {
        narrow(k, candidate, numeric);
      }
      report_.add(std::move(candidate.finding));
    }
  }

  /// Finds the output behind a failed weighted sum, if there is one, by asking with parts of it.
  void narrow(std::size_t k, Candidate& candidate, const Numeric& numeric) {
    const std::size_t j = candidate.element;
    const std::vector<Slope> column = measure(k, j, numeric.row_scale, true);
    const Values& weights = probes_[candidate.probe].weight;
    const double scale = numeric.dense_scale;
    const auto wrong = [&](std::int64_t first, std::int64_t last) {
      Probe part{Values(weights.size(), 0.0), -1};
      std::copy(weights.begin() + first, weights.begin() + last, part.weight.begin() + first);
      const double a = subject_.vjp(part.weight, report_)[k][j];
      return judge(a, contract(column, part), scale, options_.tolerance()).verdict == Verdict::fail;
    };
    const std::int64_t output = find_output(static_cast<std::int64_t>(outputs()), wrong);
    if (output < 0) return;
    const Probe probe{{weights[static_cast<std::size_t>(output)]}, output};
    const double a = subject_.vjp(probe.upstream(outputs()), report_)[k][j];
    const Slope n = contract(column, probe);
    const Judgement judgement = judge(a, n, scale, options_.tolerance());
    describe_numbers(candidate.finding, a, n, probe, judgement);
    candidate.finding.output = place(output, options_.output_shape);
  }

  Subject subject_;
  Options options_;
  Report report_;
  bool full_ = false;                // every row is among the probes
  std::vector<Probe> probes_;
  Arguments zero_;                   // for an upstream gradient of zeros
  std::vector<Arguments> analytic_;  // [probe][input][element]
};

/// Compares `vjp` with differences of `forward` at `inputs`. Throws BadInput where the inputs or
/// options do not make sense; whatever the two functions do wrong is in the report. The name is for
/// the report. Cost: 6 calls of forward for each input element where the function is smooth, and
/// one call of vjp for each probe.
inline Report check_vjp(const std::string& name, Forward forward, Vjp vjp,
                        std::vector<Input> inputs, Options options = {}) {
  return VjpCheck(name, std::move(forward), std::move(vjp), std::move(inputs), std::move(options))
      .run();
}

/// The same for inputs without names and shapes.
inline Report check_vjp(const std::string& name, Forward forward, Vjp vjp,
                        const std::vector<Values>& inputs, Options options = {}) {
  std::vector<Input> named(inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) named[k].values = inputs[k];
  return check_vjp(name, std::move(forward), std::move(vjp), std::move(named), std::move(options));
}

}  // namespace gradus::check::raw
