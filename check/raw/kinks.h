// Kinks: points where the derivatives from the left and from the right differ. Any value between
// the two passes, unless a convention is declared. How the two change as the step shrinks
// distinguishes a kink from a smooth point.
#pragma once

#include <optional>

#include "gradus/check/raw/verdict.h"

namespace gradus::check {

/// A declared convention for the derivative at a kink. relu at 0: the left one; abs: half way.
struct Kink {
  std::size_t input = 0;
  std::optional<double> at = {};  // where an element has this value; empty: at each of its kinks
  double share = 0;               // 0: the one from the left, 1: from the right, 0.5: their mean
};

/// Are the one-sided derivatives too far apart for a smooth point? Theirs differ by h³f⁽⁴⁾/2, about
/// 1e-8 with the first step; 1e-5 leaves room for curvature, 1e-3 of what it makes of a step for an
/// optimum, and the estimate for an f with more rounding than its size tells. (At a kink the
/// stencils are symmetric, the estimate is about 0.)
inline bool one_sided_mismatch(const Slope& s, double scale, const Tolerance& t) {
  return !(s.gap() <= 1e-5 * std::max(std::abs(s.value), scale) + 1e-3 * s.turn +
                          t.safety * (std::abs(s.change) + s.noise));
}

/// The kink among slopes measured with shrinking steps: the one-sided derivatives keep their
/// values, and with them their distance (movement small beside the gap; that of a smooth point
/// shrinks to 1/64, a jump's grows to 4). Otherwise the value is NaN: no derivative is to be seen.
inline Slope kink_of(const std::vector<Slope>& tried) {
  Slope result;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t s = 1; s < tried.size(); ++s) {
    const Slope &before = tried[s - 1], &now = tried[s];
    const double gap = now.gap();
    const double movement =
        std::max(std::abs(now.left - before.left), std::abs(now.right - before.right));
    if (!(gap > 0 && std::isfinite(gap) && movement <= 0.1 * gap && movement < least)) continue;
    least = movement;
    result = now;
    result.kink = true;
    result.jitter = result.bend = 0;
    result.value = 0.5 * (now.left + now.right);
    result.change = movement;
    result.noise = 4 * now.noise;  // 40/6 half-ulps of f in a one-sided formula, beside 110/60
  }
  return result;
}

/// Slopes by an element of input k whose value is x: at a declared kink one derivative is right.
inline void apply_conventions(const std::vector<Kink>& kinks, std::size_t k, double x,
                              std::vector<Slope>& slopes) {
  for (const Kink& kink : kinks) {
    if (kink.input != k || (kink.at && *kink.at != x)) continue;
    for (Slope& s : slopes) {
      if (!s.kink) continue;
      s.declared = true;
      s.value = s.left + kink.share * (s.right - s.left);
    }
  }
}

}  // namespace gradus::check
