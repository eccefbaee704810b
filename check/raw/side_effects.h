// Checks that a derivative is deterministic and linear in dy, and that it uses its buffers as
// declared.
#pragma once

#include "gradus/check/raw/checked_function.h"

namespace gradus::check {

class SideEffects {
 public:
  SideEffects(CheckedFunction& function, Values dy, const Tolerance& tolerance, Report& report)
      : function_(function), dy_(std::move(dy)), tolerance_(tolerance), report_(report) {}

  void check_answer(const Arguments& answer) {
    const Arguments again = function_.vjp(dy_, report_);
    for (std::size_t k = 0; k < answer.size(); ++k) {
      if (!wanted(k) || close(again[k], answer[k], share_)) continue;
      report_.add(Kind::structure, k, "the gradient of '" + name(k) + "' differs between calls",
                  {"NOT DETERMINISTIC", "calls with the same arguments give different results",
                   "fix the random seed, and look for uninitialized memory and for state "
                   "that forward shares between calls"});
    }
    if (function_.functions().linear) return;
    check_linear(answer, 1024);
    check_linear(answer, -1.0 / 1024);
  }

  /// Runs the derivative on zeroed and on filled buffers. Returns false if the results contradict
  /// Functions::accumulates.
  bool check_buffers() {
    const bool adds = function_.functions().accumulates;
    const std::size_t before = report_.findings.size();
    Random random(report_.seed);
    Arguments start = function_.filled(0);
    const Arguments clean = function_.into(dy_, start, report_);
    for (std::size_t k = 0; k < start.size(); ++k) {
      // Uses values as large as the gradient, because rounding could hide an addend. They are
      // rounded to float, so that buffers of float and of double store them exactly.
      const double size = std::max(largest_of(clean[k]), 1e-30);
      for (double& v : start[k]) v = static_cast<float>(size * random.upstream());
    }
    const Arguments found = function_.into(dy_, start, report_);
    for (std::size_t k = 0; k < start.size(); ++k) {
      if (!wanted(k)) continue;
      Values sum = clean[k];
      for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += start[k][j];
      if (close(found[k], adds ? sum : clean[k], share_)) continue;
      name_buffer_fault(k, found[k], start[k], sum);
    }
    return report_.findings.size() == before;
  }

 private:
  bool wanted(std::size_t k) const { return function_.inputs()[k].differentiable; }
  const std::string& name(std::size_t k) const { return function_.inputs()[k].name; }

  /// Checks vjp(factor dy) = factor vjp(dy). The factor is a power of two, so that scaling adds no
  /// rounding error.
  void check_linear(const Arguments& answer, double factor) {
    const double share = std::max(1e-6, 10 * tolerance_.rtol);
    const Arguments dx = function_.vjp(scaled(dy_, factor), report_);
    for (std::size_t k = 0; k < answer.size(); ++k) {
      if (!wanted(k) || close(dx[k], scaled(answer[k], factor), share)) continue;
      // Non-finite values and an ignored dy are reported elsewhere.
      const auto finite = [](double v) { return std::isfinite(v); };
      if (!std::all_of(answer[k].begin(), answer[k].end(), finite)) continue;
      if (close(dx[k], answer[k], 1e-9)) continue;
      const double largest = largest_of(answer[k]);
      if (largest > 0 && largest < 1e-300) continue;  // scaled, it may lose digits below 2⁻¹⁰²²
      if (report_.inputs[k].cause.name == "NOT LINEAR") continue;
      const std::string times = number(factor, 4);
      report_.add(
          Kind::linearity, k,
          joined("the gradient of '", name(k), "' is not linear in dy: for ", times,
                 " dy it is not ", times, " times the gradient for dy"),
          {"NOT LINEAR",
           "a derivative multiplies dy by a factor that does not depend on dy; this one clips, "
           "rectifies, squares or adds to dy",
           "look for abs, max, clamp, a square, or a constant applied to dy"});
    }
  }

  void name_buffer_fault(std::size_t k, const Values& found, const Values& start,
                         const Values& sum) {
    std::int64_t kept = 0;
    for (std::size_t j = 0; j < sum.size(); ++j) kept += found[j] == start[j] ? 1 : 0;
    const std::string dx = "d" + name(k);
    if (function_.functions().accumulates) {
      report_.add(Kind::buffer, k, dx + " is declared to be accumulated, but is overwritten",
                  {"OVERWRITES", "earlier contributions to the gradient are lost",
                   "write " + dx + "[i] += … in place of " + dx + "[i] = …"});
    } else if (close(found, sum, share_) && kept < std::ssize(sum)) {
      report_.add(Kind::buffer, k,
                  dx + " is added to, so it includes the previous contents of the buffer",
                  {"ADDS", "the previous contents of the buffer become part of the gradient",
                   "set " + dx + " to 0 first, write = in place of +=, or declare .accumulates()"});
    } else if (kept > 0) {
      report_.add(Kind::buffer, k,
                  share(kept, std::ssize(sum)) + " of " + dx + " are never written",
                  {"NEVER WRITTEN", "some elements keep the previous contents of the buffer",
                   "do the loops reach every element? Write 0 where the gradient is 0"});
    } else {
      report_.add(Kind::buffer, k, dx + " depends on the previous contents of its buffer",
                  {"DEPENDS ON ITS BUFFER", "some elements are read before they are written",
                   "set " + dx + " to 0 before adding to it"});
    }
  }

  CheckedFunction& function_;
  Values dy_;
  Tolerance tolerance_;
  Report& report_;
  double share_ = 64 * function_.functions().ulp;
};

}  // namespace gradus::check
