// The function under test and its derivative: called, counted, and stopped at the first answer that
// cannot be compared at all.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "gradus/check/raw/differences.h"
#include "gradus/check/raw/options.h"
#include "gradus/check/raw/report.h"
#include "gradus/check/raw/verdict.h"

namespace gradus::check::raw {

/// Ends a run: nothing more can be compared.
struct Stop {
  Verdict verdict;
  std::string note;
};

class Subject {
 public:
  Subject(Forward forward, Vjp vjp, std::vector<Input> inputs)
      : forward_(std::move(forward)), vjp_(std::move(vjp)), inputs_(std::move(inputs)) {
    for (const Input& input : inputs_) {
      arguments_.push_back(input.values);
      rms_.push_back(rms(input.values));
    }
  }

  const std::vector<Input>& inputs() const { return inputs_; }
  const Values& output() const { return output_; }
  const Counts& counts() const { return counts_; }

  /// Runs forward twice: what changes by itself has no derivative that could be measured.
  void measure_output() {
    output_ = forward();
    const Values again = forward();
    const auto same = [](double a, double b) { return a == b || (a != a && b != b); };
    if (std::equal(output_.begin(), output_.end(), again.begin(), again.end(), same)) return;
    throw Stop{Verdict::inconclusive,
               "forward gives different values for the same inputs; freeze its randomness"};
  }

  /// The derivative under test. Parts that do not fit the inputs go into the report.
  Arguments vjp(const Values& dy, Report& report) {
    ++counts_.vjp;
    Arguments dx;
    try {
      dx = vjp_(arguments_, dy);
    } catch (const std::exception& error) {
      throw Stop{Verdict::fail, std::string("the vjp throws: ") + error.what()};
    }
    check_structure(dx, report);
    return dx;
  }

  /// The slopes of all outputs along element j of input k.
  std::vector<Slope> column_of(std::size_t k, std::size_t j, const Goal& goal) {
    const double x = inputs_[k].values[j];
    const Line line = [this, k, j, x](double t) {
      arguments_[k][j] = t;
      Values y = forward();
      arguments_[k][j] = x;
      return y;
    };
    try {
      return column(line, x, unit_of(x, rms_[k]), output_, goal);
    } catch (const FunctionError& error) {
      throw Stop{Verdict::inconclusive, error.what()};
    }
  }

 private:
  Values forward() {
    ++counts_.forward;
    try {
      return forward_(arguments_);
    } catch (const std::exception& error) {
      throw Stop{Verdict::inconclusive, std::string("forward throws: ") + error.what()};
    }
  }

  void check_structure(const Arguments& dx, Report& report) const {
    Finding finding;
    finding.kind = Kind::structure;
    if (dx.size() != inputs_.size()) {
      finding.note = "the vjp gives " + std::to_string(dx.size()) + " gradients for " +
                     std::to_string(inputs_.size()) + " inputs; it must give one for each";
      report.add(finding);
      throw Stop{Verdict::fail, "nothing more was compared"};
    }
    bool fits = true;
    for (std::size_t k = 0; k < dx.size(); ++k) {
      const Input& input = inputs_[k];
      if (dx[k].size() == input.values.size()) continue;
      if (!input.differentiable && dx[k].empty()) continue;
      fits = false;
      finding.input = k;
      finding.input_name = input.name;
      finding.note = "the gradient of input " + std::to_string(k) + " '" + input.name + "' has " +
                     std::to_string(dx[k].size()) + " values, the input has " +
                     std::to_string(input.values.size()) + " (shape " + list(input.shape) + ")";
      report.add(finding);
    }
    if (!fits) throw Stop{Verdict::fail, "nothing more was compared"};
  }

  Forward forward_;
  Vjp vjp_;
  std::vector<Input> inputs_;
  Arguments arguments_;
  std::vector<double> rms_;
  Values output_;
  Counts counts_;
};

}  // namespace gradus::check::raw
