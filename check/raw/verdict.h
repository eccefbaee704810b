// When does a derivative pass? This page is the whole rule. The other headers choose what it is
// applied to, and explain what failed; they never change it.
//
// What is measured. f is the function under test, one output of it at a time; x is one element of
// an input. With fₖ = f(x + kh) the derivative n is a central difference of six points:
//
//   six points    f'(x) ≈ [45(f₁-f₋₁) - 9(f₂-f₋₂) + (f₃-f₋₃)] / 60h     error h⁶f⁽⁷⁾/140
//   four of them  f'(x) ≈ [ 8(f₁-f₋₁) -  (f₂-f₋₂)] / 12h                error h⁴f⁽⁵⁾/30
//   one side      f'(x) ≈ [18(f₁-f₀)  - 9(f₂-f₀)  + 2(f₃-f₀)] / 6h      error h³f⁽⁴⁾/4
//
// The difference of the first two estimates the error of the second, so it is generous to the
// first. The third, taken on both sides, tells a kink from a smooth point. All three come from the
// same six calls, and f is vector-valued: one call serves all outputs. The estimate is
//
//   estimate = |six - four| + rounding of f and of x, divided by h
//
// How. h starts at 3e-3 of the size of x; differences.h takes smaller steps where that does not
// settle it, and larger ones where rounding hides the derivative. kinks.h replaces n by the
// interval between the two one-sided derivatives where they stay apart.
//
// With what it is compared. a is the derivative under test, for an upstream gradient that weighs
// one output, or all of them (probe.h). With max|N|, the largest measured derivative of that input,
//
//   |a - n|  <=  rtol·|n|  +  atol·max|N|  +  20·estimate                                     (1)
//   20·estimate  <=  max(0.1·|n|, 1e-5·max|N|)                                                (2)
//
// FAIL          (1) does not hold, or a is not finite.
// PASS          (1) and (2) hold; or rounding alone keeps n from being exact (|six - four| is at
//               most 1e3 times the rounding) and a agrees with n to 5 estimates.
// INCONCLUSIVE  everything else: n is not finite, or is not known well enough to judge by.
//
// A report fails if one comparison fails, and passes if all of them pass.
#pragma once

#include <array>
#include <limits>

#include "gradus/check/raw/values.h"

namespace gradus::check {

/// Inconclusive: the derivative cannot be measured. It never counts as a pass.
enum class Verdict { pass, fail, inconclusive };

inline const char* to_string(Verdict verdict) {
  static constexpr std::array names{"PASS", "FAIL", "INCONCLUSIVE"};
  return names[static_cast<std::size_t>(verdict)];
}

/// The worse of two: one failure fails all, one inconclusive part spoils a pass.
inline Verdict worse(Verdict a, Verdict b) {
  if (a == Verdict::fail || b == Verdict::fail) return Verdict::fail;
  return a == Verdict::pass ? b : a;
}

struct Tolerance {
  double rtol = 1e-7;   // six points in f64 reach 1e-13; an error below 1e-7 is no fault
  double atol = 1e-9;   // relative to max|N|, so that the units of f and x do not matter
  double safety = 20;   // the estimate is an order of magnitude, not a bound
  double seen = 0.1;    // in (2), of |n|
  double floor = 1e-5;  // in (2), of max|N|
  // Where f is exactly 0 all around, its unit is unknown: it may have underflowed (0.5x(1 + erf(x))
  // for x = -10) where its derivative has not. Below this a derivative of such an f counts as 0.
  double zero_floor = 1e-15;
  bool exact = true;  // rounding is the only noise of f
};

/// One measured derivative: of one output, or of a weighted sum of outputs, by one input element.
struct Slope {
  double value = std::numeric_limits<double>::quiet_NaN();
  double change = 0;  // six-point minus four-point stencil, signed, so that it can be summed
  double noise = 0;   // rounding of f and of x, carried to the derivative
  double left = 0;    // one-sided derivatives
  double right = 0;
  double step = 0;        // h
  bool kink = false;      // left and right stay apart as the step shrinks
  bool declared = false;  // a kink whose derivative is, by convention, `value`

  double estimate() const { return std::abs(change) + noise; }
  double gap() const { return std::abs(right - left); }
  double lower() const { return kink && !declared ? std::min(left, right) : value; }
  double upper() const { return kink && !declared ? std::max(left, right) : value; }
  double size() const { return std::max(std::abs(lower()), std::abs(upper())); }
  bool finite() const {
    return std::isfinite(lower()) && std::isfinite(upper()) && std::isfinite(estimate());
  }
  /// Nothing but zero can be seen of it.
  bool looks_zero() const { return finite() && size() <= 5 * estimate(); }
  /// Rounding of f is all that keeps the differences from being exact.
  bool only_rounding() const { return std::abs(change) <= 1e3 * noise; }
};

/// f holds f(x-3h) … f(x+3h) of one output, each known to ulp·|f|, and at least to `noise`.
inline Slope measured(const std::array<double, 7>& f, double x, double h, double ulp,
                      double noise) {
  const double d1 = f[4] - f[2], d2 = f[5] - f[1], d3 = f[6] - f[0];
  Slope result;
  result.step = h;
  result.value = (45 * d1 - 9 * d2 + d3) / (60 * h);
  result.change = result.value - (8 * d1 - d2) / (12 * h);
  result.right = (18 * (f[4] - f[3]) - 9 * (f[5] - f[3]) + 2 * (f[6] - f[3])) / (6 * h);
  result.left = (18 * (f[3] - f[2]) - 9 * (f[3] - f[1]) + 2 * (f[3] - f[0])) / (6 * h);
  double largest = 0;
  for (const double v : f) largest = std::max(largest, std::abs(v));
  // 110/60 half-ulps of f; and x ± kh may be off by an ulp of x.
  result.noise = (std::max(ulp * largest, noise) + ulp * std::abs(x * result.value)) / h;
  return result;
}

/// (2), with `share` in place of 0.1. `scale` is max|N|.
inline bool within(const Slope& n, double share, double scale, const Tolerance& t) {
  return n.finite() && t.safety * n.estimate() <= std::max(share * n.size(), t.floor * scale);
}
inline bool resolved(const Slope& n, double scale, const Tolerance& t) {
  return within(n, t.seen, scale, t);
}

/// The second way to pass: of a function that does not depend on x differences are rounding and
/// nothing else, and no step makes them better. A derivative that rounding hides even at the
/// largest step is below 1e-12 of |f| / |x|.
inline bool agree_to_rounding(double a, const Slope& n, const Tolerance& t) {
  const double reach = 5 * n.estimate();
  if (!n.only_rounding()) return false;
  if (n.looks_zero() && std::abs(a) <= reach) return true;
  return t.exact && std::max(n.lower() - a, a - n.upper()) <= reach;
}

struct Judgement {
  Verdict verdict = Verdict::inconclusive;
  double error = 0;
  double allowed = 0;
};

/// Comparisons are written !(error <= allowed): NaN must not pass.
inline Judgement judge(double a, const Slope& n, double scale, const Tolerance& t) {
  Judgement result;
  if (!n.finite()) return result;
  result.allowed = t.rtol * n.size() + t.atol * scale + t.safety * n.estimate();
  if (n.size() == 0 && n.noise == 0) result.allowed = std::max(result.allowed, t.zero_floor);
  result.error = std::isfinite(a) ? std::max({n.lower() - a, a - n.upper(), 0.0}) : std::abs(a);
  if (!(result.error <= result.allowed) || !std::isfinite(a)) {
    result.verdict = Verdict::fail;
  } else if (resolved(n, scale, t) || agree_to_rounding(a, n, t)) {
    result.verdict = Verdict::pass;
  }
  return result;
}

}  // namespace gradus::check
