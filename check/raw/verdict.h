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
// The difference of the first two is generous to the first. The third, taken on both sides, tells
// a kink from a smooth point. All three come from the same six calls, and f is vector-valued: one
// call serves all outputs. The estimate is
//
//   estimate = max(|six - four|, jitter of f / h) + rounding of f and of x, divided by h
//
// where the fifth differences of f show how it jitters, if more than rounding of f itself would.
//
// How. h starts at 3e-3 of the size of x. differences.h takes smaller steps where that does not
// settle it, larger ones where rounding hides the derivative, and those of a function that knows no
// unit where x is tiny or huge. kinks.h replaces n by the interval between the two one-sided
// derivatives where they stay apart; at the edge of a domain the side that has values is taken.
//
// With what it is compared. a is the derivative under test, for an upstream gradient that weighs
// one output, or all of them (probe.h). The scale S is that of this element alone: the largest
// measured derivative of all outputs by it, or |f''|·|x|, by how much the derivative changes where
// x changes by its size (at an optimum there is nothing else).
//
//   |a - n|  <=  rtol·|n|  +  atol·S  +  20·estimate                                          (1)
//   20·estimate  <=  max(0.1·|n|, 1e-5·S)                                                     (2)
//
// FAIL          (1) does not hold, or a is not finite.
// PASS          (1) and (2) hold; or rounding alone keeps n from being exact (|six - four| is at
//               most 1e3 times the rounding), no larger step shows more, and a agrees with n to 5
//               estimates, or is 0 to 5 estimates where n is to 20.
// INCONCLUSIVE  everything else: n is not finite, or is not known well enough to judge by.
//
// A report fails if one comparison fails, and passes if all of them pass. It fails too if equal
// elements at kinks are wrong together, and if a sample near a special point is (special_points.h).
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
  double atol = 1e-9;   // relative to S, so that the units of f and x do not matter
  double safety = 20;   // the estimate is an order of magnitude, not a bound
  double seen = 0.1;    // in (2), of |n|
  double floor = 1e-5;  // in (2), of S
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
  double jitter = 0;  // the same, for rounding that only fifth differences of f show
  double left = 0;    // one-sided derivatives
  double right = 0;
  double step = 0;        // h
  double turn = 0;        // |f''|·h: how much the derivative changes over a step
  double bend = 0;        // |f''|·unit: how much it changes where x changes by its size
  bool kink = false;      // left and right stay apart as the step shrinks
  bool declared = false;  // a kink whose derivative is, by convention, `value`

  double estimate() const { return std::max(std::abs(change), jitter) + noise; }
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
  result.turn = std::abs(f[4] - 2 * f[3] + f[2]) / h;
  result.bend = result.turn / h;
  double largest = 0;
  for (const double v : f) largest = std::max(largest, std::abs(v));
  // 110/60 half-ulps of f; and x ± kh may be off by an ulp of x.
  result.noise = (std::max(ulp * largest, noise) + ulp * std::abs(x * result.value)) / h;
  // Fifth differences of independent errors σ have the size √252 σ.
  const double fifths[] = {f[5] - f[0] - 5 * (f[4] - f[1]) + 10 * (f[3] - f[2]),
                           f[6] - f[1] - 5 * (f[5] - f[2]) + 10 * (f[4] - f[3])};
  result.jitter = std::max(std::abs(fifths[0]), std::abs(fifths[1])) / 32 / h;
  return result;
}

/// The same with the values of one side, where the other has none: at the edge of a domain.
inline Slope one_sided(const std::array<double, 7>& f, double x, double h, double ulp,
                       double noise) {
  const double side = std::isfinite(f[6]) ? 1 : -1;
  const auto at = [&f, side](int k) { return f[static_cast<std::size_t>(3 + side * k)]; };
  Slope result = measured({f[3], f[3], f[3], at(0), at(1), at(2), at(3)}, x, h, ulp, noise);
  result.value = side * result.right;
  result.change = result.value - side * (4 * at(1) - at(2) - 3 * at(0)) / (2 * h);
  result.left = result.right = result.value;
  result.turn = result.bend = result.jitter = 0;
  return result;
}

/// (2), with `share` in place of 0.1. `scale` is S.
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
  if (n.finite() && n.size() <= t.safety * n.estimate() && std::abs(a) <= reach) return true;
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
  scale = std::max(scale, n.bend);
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
