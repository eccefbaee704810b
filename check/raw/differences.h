// Derivatives of a black box by central differences, with an estimate of their error.
//
//   six points    f'(x) ≈ [45(f₁-f₋₁) - 9(f₂-f₋₂) + (f₃-f₋₃)] / 60h     error h⁶f⁽⁷⁾/140
//   four of them  f'(x) ≈ [ 8(f₁-f₋₁) -  (f₂-f₋₂)] / 12h                error h⁴f⁽⁵⁾/30
//   one side      f'(x) ≈ [18(f₁-f₀)  - 9(f₂-f₀)  + 2(f₃-f₀)] / 6h      error h³f⁽⁴⁾/4
//
// where fₖ = f(x + kh). The difference of the first two estimates the error (of the second, so it
// is generous to the first); the third, taken on both sides, tells a kink from a smooth point. All
// come from the same six calls, and f is vector-valued: one call serves all outputs.
//
// The first step settles most points. Where it does not (strong curvature, the edge of a domain, a
// kink nearby), the step shrinks by 4 and the step with the smallest estimate is kept.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gradus/check/raw/verdict.h"

namespace gradus::check::core {

using Values = std::vector<double>;

/// All outputs, with the one input element in question set to t and the others left alone.
using Line = std::function<Values(double t)>;

/// The function under test did something that no derivative can be measured from.
class FunctionError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Steps {
  double first = 3e-3;  // of the size of x: balances h⁶ against rounding/h for six points in f64
  double shrink = 0.25;
  int usual = 4;  // as many as it takes to reach the tolerance
  int most = 8;   // as many as it takes to see anything: next to a kink or the edge of a domain
};

/// What the differences are wanted for; `scale` is the largest derivative seen so far.
struct Goal {
  Tolerance tolerance;
  Steps steps;
  double scale = 0;
  bool thorough = false;  // take all usual steps, whatever the first one says
  double ulp = std::numeric_limits<double>::epsilon();  // of the arithmetic that f is computed in
  const Values* noise = nullptr;  // measured, of each output, where it may be more than rounding
};

/// The unit of the steps: that of this element, or of its tensor where the element is nearly 0.
/// A tensor of zeros (a fresh bias) says nothing about its unit; it is taken to be 1.
inline double unit_of(double x, double rms) {
  const double unit = std::max(std::abs(x), 0.1 * rms);
  return unit > 1e-100 ? unit : 1.0;
}

inline double rms(const Values& x) {
  // Divided by the largest first: squares of 1e200 would overflow.
  double largest = 0, sum = 0;
  for (double v : x) largest = std::max(largest, std::abs(v));
  if (!(largest > 0)) return 0;
  for (double v : x) sum += (v / largest) * (v / largest);
  return largest * std::sqrt(sum / static_cast<double>(x.size()));
}

inline double largest_of(const Values& x) {
  double result = 0;
  for (double v : x) {
    if (std::isfinite(v)) result = std::max(result, std::abs(v));
  }
  return result;
}

/// Are all equal to `share` of the largest, NaN with NaN?
inline bool close(const Values& a, const Values& b, double share) {
  if (a.size() != b.size()) return false;
  const double allowed = share * std::max(largest_of(a), largest_of(b));
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool both = std::isnan(a[i]) && std::isnan(b[i]);
    if (!both && a[i] != b[i] && !(std::abs(a[i] - b[i]) <= allowed)) return false;
  }
  return true;
}

/// Steps are powers of two: x ± kh then carries no rounding of its own (or one ulp where it crosses
/// a power of two).
inline double power_of_two_below(double v) {
  int exponent = 0;
  std::frexp(v, &exponent);
  return std::ldexp(1.0, exponent - 1);
}

/// f holds f(x-3h) … f(x+3h) of one output, each known to ulp·|f|, and at least to `noise`.
inline Slope slope(const std::array<double, 7>& f, double x, double h, double ulp, double noise) {
  const double d1 = f[4] - f[2], d2 = f[5] - f[1], d3 = f[6] - f[0];
  Slope result;
  result.step = h;
  result.value = (45 * d1 - 9 * d2 + d3) / (60 * h);
  result.change = result.value - (8 * d1 - d2) / (12 * h);
  result.right = (18 * (f[4] - f[3]) - 9 * (f[5] - f[3]) + 2 * (f[6] - f[3])) / (6 * h);
  result.left = (18 * (f[3] - f[2]) - 9 * (f[3] - f[1]) + 2 * (f[3] - f[0])) / (6 * h);
  double largest = 0;
  for (double v : f) largest = std::max(largest, std::abs(v));
  // 110/60 half-ulps of f; and x ± kh may be off by an ulp of x.
  result.noise = (std::max(ulp * largest, noise) + ulp * std::abs(x * result.value)) / h;
  return result;
}

/// f(t), which has as many values as f(x).
inline Values values_at(const Line& f, double t, std::size_t outputs) {
  Values values = f(t);
  if (values.size() == outputs) return values;
  throw FunctionError("forward gives " + std::to_string(outputs) + " values at the inputs and " +
                      std::to_string(values.size()) + " close by");
}

/// The slopes of all outputs with one step; y = f(x).
inline std::vector<Slope> slopes_at(const Line& f, double x, double h, const Values& y,
                                    const Goal& goal) {
  std::array<Values, 7> at;
  for (int k = -3; k <= 3; ++k) {
    at[static_cast<std::size_t>(k + 3)] = k == 0 ? y : values_at(f, x + k * h, y.size());
  }
  std::vector<Slope> result(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    std::array<double, 7> one;
    for (std::size_t k = 0; k < 7; ++k) one[k] = at[k][i];
    result[i] = slope(one, x, h, goal.ulp, goal.noise == nullptr ? 0 : (*goal.noise)[i]);
  }
  return result;
}

/// Are the one-sided derivatives too far apart for a smooth point? Theirs differ by h³f⁽⁴⁾/2, about
/// 1e-8 with the first step; 1e-5 leaves room for curvature, the estimate for an f with more
/// rounding than its size tells. (At a kink the stencils are symmetric, the estimate is about 0.)
inline bool torn(const Slope& s, double scale, const Tolerance& t) {
  return !(s.gap() <= 1e-5 * std::max(std::abs(s.value), scale) + t.safety * s.estimate());
}

/// No smaller step is wanted: the estimate is inside the tolerance, or it is rounding, which a
/// smaller step makes worse.
inline bool settled(const Slope& s, double scale, const Tolerance& t) {
  if (!s.finite() || torn(s, scale, t)) return false;
  return t.safety * std::abs(s.change) <= t.rtol * std::abs(s.value) + t.atol * scale ||
         std::abs(s.change) <= 3 * s.noise;
}

/// A kink: the one-sided derivatives keep their distance (ratio about 1; a smooth point has 1/64, a
/// jump 4) and their values (movement small beside the gap) while the step shrinks. Otherwise the
/// value is NaN: there is no derivative to be seen here.
inline Slope kink_of(const std::vector<Slope>& tried) {
  Slope result;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t s = 1; s < tried.size(); ++s) {
    const Slope &before = tried[s - 1], &now = tried[s];
    const double ratio = now.gap() / before.gap();
    const double movement =
        std::max(std::abs(now.left - before.left), std::abs(now.right - before.right));
    if (!(ratio >= 0.5 && ratio <= 2) || !(movement <= 0.1 * now.gap())) continue;
    if (!(movement < least)) continue;
    least = movement;
    result = now;
    result.kink = true;
    result.value = 0.5 * (now.left + now.right);
    result.change = movement;
    result.noise = 4 * now.noise;  // 40/6 half-ulps of f in a one-sided formula, beside 110/60
  }
  return result;
}

/// The best that the steps tried for one output can say. Where the best is torn and there is no
/// kink, f rounds more than it seems to, and a step that is not torn says how much.
inline Slope conclude(const std::vector<Slope>& tried, double scale, const Tolerance& t) {
  const Slope *smooth = nullptr, *calm = nullptr, *any = nullptr;
  const auto better = [](const Slope& s, const Slope* best) {
    return best == nullptr || s.estimate() < best->estimate();
  };
  for (const Slope& s : tried) {
    if (!s.finite()) continue;
    if (better(s, any)) any = &s;
    if (torn(s, scale, t)) continue;
    if (better(s, calm)) calm = &s;
    if (clear(s, scale, t) && better(s, smooth)) smooth = &s;
  }
  if (smooth != nullptr) return *smooth;
  if (any == nullptr) return Slope{};
  if (any == calm) return *any;
  const Slope kink = kink_of(tried);
  return kink.finite() || calm == nullptr ? kink : *calm;
}

/// The largest of `start` and the slopes that are measured well: garbage would be larger than all.
inline double largest_clear(const std::vector<Slope>& slopes, double start, const Tolerance& t) {
  for (const Slope& s : slopes) {
    if (clear(s, 0, t)) start = std::max(start, s.size());
  }
  return start;
}

/// Is there a slope that the rounding of f hides, and nothing else?
inline bool hidden(const Slope& s, double scale, const Tolerance& t) {
  return s.finite() && only_rounding(s) && !zero(s) && !clear(s, scale, t) && !torn(s, scale, t);
}

/// Rounding grows as the step shrinks. Where it hides a slope (a saturated softmax, a small change
/// on top of a large value) up to three larger steps see it better; `best` is what smaller ones
/// said. Six calls each.
inline void look_from_further(const Line& f, double x, double unit, const Values& y,
                              const Goal& goal, double scale, std::vector<Slope>& best) {
  const Tolerance& t = goal.tolerance;
  double h = power_of_two_below(goal.steps.first * unit);
  for (int step = 0; step < 3; ++step) {
    if (std::none_of(best.begin(), best.end(),
                     [&](const Slope& s) { return hidden(s, scale, t); })) {
      return;
    }
    h /= goal.steps.shrink;
    const std::vector<Slope> now = slopes_at(f, x, h, y, goal);
    for (std::size_t i = 0; i < best.size(); ++i) {
      if (!hidden(best[i], scale, t) || !now[i].finite() || torn(now[i], scale, t)) continue;
      if (now[i].estimate() < best[i].estimate()) best[i] = now[i];
    }
  }
}

/// What each step gave for output i; `tried` is overwritten.
inline void gather(const std::vector<std::vector<Slope>>& steps, std::size_t i,
                   std::vector<Slope>& tried) {
  tried.clear();
  for (const std::vector<Slope>& step : steps) tried.push_back(step[i]);
}

/// Takes another look where no slope was found, or rounding hides it: where f hardly changes but
/// rounds by many ulps (large numbers cancel inside it), one-sided slopes look torn at every step.
/// Their gap is a fourth difference; of a kink, gap·step has shrunk to 1/16 from the third step on,
/// so what is left there is rounding, if it is less than 1e4 ulps. 4 ulps are always granted.
inline void look_at_rounding(const Values& y, const Goal& goal, double scale,
                             const std::vector<std::vector<Slope>>& steps,
                             std::vector<Slope>& best) {
  const Tolerance& t = goal.tolerance;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (best[i].finite() && !hidden(best[i], scale, t)) continue;
    const double ulp = goal.ulp * std::abs(y[i]);
    double rounding = 4 * ulp;
    std::vector<Slope> tried;
    gather(steps, i, tried);
    for (std::size_t s = 2; s < tried.size(); ++s)
      rounding = std::max(rounding, tried[s].gap() * tried[s].step / 3);
    if (!(rounding <= 1e4 * ulp)) continue;
    const auto add = [&](Slope& s) { s.noise = std::max(s.noise, rounding / s.step); };
    std::for_each(tried.begin(), tried.end(), add);
    if (best[i].finite()) {
      add(best[i]);
    } else {
      best[i] = conclude(tried, scale, t);
    }
  }
}

/// One column of the Jacobian: the slope of every output along one input element. x is that
/// element's value, y = f(x), unit as in unit_of. Calls f six times per step. Where x is not finite
/// nothing can be measured, and every value is NaN.
inline std::vector<Slope> column(const Line& f, double x, double unit, const Values& y,
                                 const Goal& goal) {
  std::vector<Slope> result(y.size());
  if (!std::isfinite(x) || !std::isfinite(unit)) return result;
  const Tolerance& t = goal.tolerance;
  double h = power_of_two_below(goal.steps.first * unit);
  std::vector<std::vector<Slope>> steps;  // each a slope for every output
  std::vector<bool> fine(y.size(), false), seen(y.size(), false);
  double scale = goal.scale;
  for (int step = 1; step <= std::max(1, goal.steps.most); ++step, h *= goal.steps.shrink) {
    steps.push_back(slopes_at(f, x, h, y, goal));
    const std::vector<Slope>& now = steps.back();
    if (step == 1) scale = largest_clear(now, scale, t);
    bool all_done = true;
    for (std::size_t i = 0; i < y.size(); ++i) {
      fine[i] = fine[i] || settled(now[i], scale, t);
      seen[i] = seen[i] || (clear(now[i], scale, t) && !torn(now[i], scale, t));
      all_done = all_done && (fine[i] || (seen[i] && step >= goal.steps.usual));
    }
    if (all_done && (step >= goal.steps.usual || !goal.thorough)) break;
  }
  std::vector<Slope> tried;
  for (std::size_t i = 0; i < y.size(); ++i) {
    gather(steps, i, tried);
    result[i] = conclude(tried, scale, t);
  }
  look_from_further(f, x, unit, y, goal, scale, result);
  look_at_rounding(y, goal, scale, steps, result);
  return result;
}

}  // namespace gradus::check::core
