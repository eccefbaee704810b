// When is a derivative right? The rule that every comparison of the checker follows:
//
//   |a - n|  <=  rtol·|n|  +  atol·max|N|  +  safety·estimate
//
// a is the derivative under test, n the measured one, max|N| the largest measured derivative of
// that input, estimate the error of n as the differences themselves tell it. At a kink n is the
// interval between the one-sided derivatives, and |a - n| the distance to it.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradus::check::core {

/// Inconclusive: the differences cannot see the derivative. It never counts as a pass.
enum class Verdict { pass, fail, inconclusive };

inline const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "PASS";
    case Verdict::fail:
      return "FAIL";
    case Verdict::inconclusive:
      break;
  }
  return "INCONCLUSIVE";
}

/// The graver of two: one failure fails all, one inconclusive part spoils a pass.
inline Verdict graver(Verdict a, Verdict b) {
  if (a == Verdict::fail || b == Verdict::fail) return Verdict::fail;
  return a == Verdict::pass ? b : a;
}

struct Tolerance {
  double rtol = 1e-7;  // six points in f64 reach 1e-13 (measured); a fault below 1e-7 is no fault
  double atol = 1e-9;  // relative to max|N|, so that the units of f and x do not matter
  double safety = 20;  // the estimate is an order of magnitude, not a bound
  // Where f is exactly 0 all around, its unit is unknown: it may have underflowed (0.5x(1 + erf(x))
  // for x = -10) where its derivative has not. Below this a derivative of such an f counts as 0.
  double nothing = 1e-15;
  // The estimate is too large to see by when safety·estimate exceeds both of these shares:
  double faint = 0.1;         // of |n|
  double faint_scale = 1e-5;  // of max|N|
  // Between this share of |n| and `faint` a comparison counts, but the report says it is coarse.
  double coarse = 1e-3;
  bool exact = true;  // f is noisy by rounding alone
};

/// One measured derivative, of one output (or of a weighted sum of outputs) by one input element.
struct Slope {
  double value = std::numeric_limits<double>::quiet_NaN();
  double change = 0;  // six-point minus four-point stencil, signed, so that it can be summed
  double noise = 0;   // rounding of f and of x, carried to the derivative
  double left = 0;    // one-sided derivatives, from x and three points on that side
  double right = 0;
  double step = 0;        // that it was measured with
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
};

/// Is the estimate small enough beside `share` of the slope, or beside the largest slope?
inline bool within(const Slope& n, double share, double scale, const Tolerance& t) {
  return n.finite() && t.safety * n.estimate() <= std::max(share * n.size(), t.faint_scale * scale);
}

/// Is there something to judge by? See Tolerance::faint.
inline bool clear(const Slope& n, double scale, const Tolerance& t) {
  return within(n, t.faint, scale, t);
}

/// Nothing but zero can be seen of it.
inline bool zero(const Slope& n) { return n.finite() && n.size() <= 5 * n.estimate(); }

/// Is the rounding of f all that keeps the differences from being exact?
inline bool only_rounding(const Slope& n) { return std::abs(n.change) <= 1e3 * n.noise; }

/// Do both agree as far as the rounding of f lets anyone see? So they must for a function that does
/// not depend on x: its differences are rounding and nothing else, and no step makes them better.
/// A slope that rounding still hides after the largest step is below 1e-12 of |f| / |x|.
inline bool same_but_for_rounding(double a, const Slope& n, const Tolerance& t) {
  if (!only_rounding(n)) return false;
  if (zero(n) && std::abs(a) <= 5 * n.estimate()) return true;
  return t.exact && std::max(n.lower() - a, a - n.upper()) <= 5 * n.estimate();
}

struct Judgement {
  Verdict verdict = Verdict::inconclusive;
  double error = 0;
  double allowed = 0;
};

/// `scale` is max|N|. Comparisons are written !(error <= allowed): NaN must not pass.
inline Judgement judge(double a, const Slope& n, double scale, const Tolerance& t) {
  Judgement result;
  if (!n.finite()) return result;
  result.allowed = t.rtol * n.size() + t.atol * scale + t.safety * n.estimate();
  if (n.size() == 0 && n.noise == 0) result.allowed = std::max(result.allowed, t.nothing);
  result.error = std::isfinite(a) ? std::max({n.lower() - a, a - n.upper(), 0.0}) : std::abs(a);
  if (!(result.error <= result.allowed) || !std::isfinite(a)) {
    result.verdict = Verdict::fail;
  } else if (clear(n, scale, t) || same_but_for_rounding(a, n, t)) {
    result.verdict = Verdict::pass;
  }
  return result;
}

}  // namespace gradus::check::core
