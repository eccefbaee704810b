// Kinks: points where the left and right derivatives differ. Any value between them passes unless a
// convention is declared.
#pragma once

#include <optional>

#include "gradus/check/raw/verdict.h"

namespace gradus::check {

/// A convention for the derivative at a kink. For relu at 0 it is the left derivative, for abs the
/// mean.
struct Kink {
  std::size_t input = 0;
  std::optional<double> at = {};  // value of the element; empty: any
  double share = 0;               // 0: left, 1: right, 0.5: their mean
};

/// True if the one-sided derivatives differ by more than at a smooth point. There, the difference
/// is h³f⁽⁴⁾/2, about 1e-8 at the first step. The limit allows 1e-5 for curvature, 1e-3·turn for an
/// optimum, and the estimate (about 0 at a kink) for larger rounding errors of f.
inline bool one_sided_mismatch(const Slope& s, double scale, const Tolerance& t) {
  return !(s.gap() <= 1e-5 * std::max(std::abs(s.value), scale) + 1e-3 * s.turn +
                          t.safety * (std::abs(s.change) + s.noise));
}

/// Returns the kink among slopes with shrinking steps, or NaN. At a kink, the one-sided derivatives
/// hardly change compared with their gap. The gap of a smooth point shrinks to 1/64; that of a jump
/// grows by 4.
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
    result.noise = 4 * now.noise;  // one-sided: 40/6 half-ulps of f, six points: 110/60
  }
  return result;
}

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
