// The rule by which a derivative passes.
//
// Measurement. f is one output of the function under test, x one element of an input, and
// fₖ = f(x + kh). The derivative n is a central difference of six points:
//
//   six points    f'(x) ≈ [45(f₁-f₋₁) - 9(f₂-f₋₂) + (f₃-f₋₃)] / 60h     error h⁶f⁽⁷⁾/140
//   four of them  f'(x) ≈ [ 8(f₁-f₋₁) -  (f₂-f₋₂)] / 12h                error h⁴f⁽⁵⁾/30
//   one side      f'(x) ≈ [18(f₁-f₀)  - 9(f₂-f₀)  + 2(f₃-f₀)] / 6h      error h³f⁽⁴⁾/4
//
// The difference between the first two overestimates the error of the first. The third, on both
// sides, distinguishes a kink from a smooth point. All three use the same six calls, which serve
// all outputs.
//
//   estimate = max(|six - four|, jitter of f / h) + rounding of f and of x, divided by h
//
// The jitter is measured by fifth differences of f, if it exceeds the rounding of f.
//
// Step. h starts at 3e-3 of the size of x. differences.h tries smaller steps if n is not settled,
// larger ones if rounding hides it, and a natural size if x is tiny or huge. At a kink, kinks.h
// replaces n by the interval between the one-sided derivatives. At the edge of a domain, one side
// is used.
//
// Comparison. a is the derivative under test, for an upstream gradient of one output or of a
// weighted sum of outputs (probe.h). S is the scale of this element: the largest measured
// derivative of any output, or |f''|·|x|, the change of the derivative when x changes by its size.
// At an optimum, only the latter is nonzero.
//
//   |a - n|  <=  rtol·|n|  +  atol·S  +  20·estimate                                          (1)
//   20·estimate  <=  max(0.1·|n|, 1e-5·S)                                                     (2)
//
// FAIL          (1) does not hold, or a is not finite. Other steps confirm it (depends_on_step in
//               differences.h).
// PASS          (1) and (2) hold; or only rounding makes n inexact (|six - four| <= 1e3 roundings),
//               no larger step is better, and |a - n| <= 5 estimates, or |a| <= 5 estimates and
//               |n| <= 20 estimates.
// INCONCLUSIVE  everything else: n is not finite or not accurate enough.
//
// One failed comparison fails the report. So do equal elements at kinks that are wrong when moved
// together, and a wrong sample near a special point (special_points.h).
#pragma once

#include <array>
#include <limits>

#include "gradus/check/raw/values.h"

namespace gradus::check {

/// Inconclusive: the derivative could not be measured. Unimplemented: the function has no
/// derivative (Unimplemented in options.h). Neither counts as a pass.
enum class Verdict { pass, fail, inconclusive, unimplemented };

inline const char* to_string(Verdict verdict) {
  static constexpr std::array names{"PASS", "FAIL", "INCONCLUSIVE", "UNIMPLEMENTED"};
  return names[static_cast<std::size_t>(verdict)];
}

inline Verdict worse(Verdict a, Verdict b) {
  for (const Verdict v : {Verdict::fail, Verdict::unimplemented, Verdict::inconclusive})
    if (a == v || b == v) return v;
  return Verdict::pass;
}

struct Tolerance {
  double rtol = 1e-7;   // six points reach 1e-13
  double atol = 1e-9;   // relative to S, and therefore independent of units
  double safety = 20;   // the estimate is an order of magnitude, not a bound
  double seen = 0.1;    // limit in (2), relative to |n|
  double floor = 1e-5;  // limit in (2), relative to S
  // If f is exactly 0 nearby, its value may have underflowed while its derivative has not: 0.5x(1 +
  // erf(x)) at x = -10. Derivatives below this limit count as 0.
  double zero_floor = 1e-15;
  bool exact = true;  // rounding is the only noise of f
};

/// A measured derivative of an output, or a weighted sum of outputs, with respect to one element.
struct Slope {
  double value = std::numeric_limits<double>::quiet_NaN();
  double change = 0;  // six-point minus four-point difference; signed, because contract() adds it
  double noise = 0;   // rounding of f and x, divided by the step
  double jitter = 0;  // rounding measured by fifth differences, divided by the step
  double left = 0;    // one-sided derivatives
  double right = 0;
  double step = 0;        // h
  double turn = 0;        // |f''|·h
  double bend = 0;        // |f''|·unit
  bool kink = false;      // true if left and right remain apart
  bool declared = false;  // true if `value` is correct by convention

  double estimate() const { return std::max(std::abs(change), jitter) + noise; }
  double gap() const { return std::abs(right - left); }
  double lower() const { return kink && !declared ? std::min(left, right) : value; }
  double upper() const { return kink && !declared ? std::max(left, right) : value; }
  double size() const { return std::max(std::abs(lower()), std::abs(upper())); }
  bool finite() const {
    return std::isfinite(lower()) && std::isfinite(upper()) && std::isfinite(estimate());
  }
  bool looks_zero() const { return finite() && size() <= 5 * estimate(); }
  bool only_rounding() const { return std::abs(change) <= 1e3 * noise; }
};

/// Measures a slope from `f`, the values f(x-3h) … f(x+3h) of one output. Each has an error of
/// ulp·|f| or `noise`.
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
  // The error is 110/60 half-ulps of f. In addition, x ± kh may be off by an ulp of x.
  result.noise = (std::max(ulp * largest, noise) + ulp * std::abs(x * result.value)) / h;
  // Fifth differences of independent errors σ have size √252 σ.
  const double fifths[] = {f[5] - f[0] - 5 * (f[4] - f[1]) + 10 * (f[3] - f[2]),
                           f[6] - f[1] - 5 * (f[5] - f[2]) + 10 * (f[4] - f[3])};
  result.jitter = std::max(std::abs(fifths[0]), std::abs(fifths[1])) / 32 / h;
  return result;
}

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

/// True if rule (2) holds, with `share` in place of 0.1.
inline bool within(const Slope& n, double share, double scale, const Tolerance& t) {
  return n.finite() && t.safety * n.estimate() <= std::max(share * n.size(), t.floor * scale);
}
inline bool resolved(const Slope& n, double scale, const Tolerance& t) {
  return within(n, t.seen, scale, t);
}

/// True if a and n differ only by rounding. If f does not depend on x, all differences are rounding
/// errors. A derivative that rounding hides at the largest step is below 1e-12 of |f| / |x|.
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

/// Applies rules (1) and (2). The form !(error <= allowed) rejects NaN.
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
