// The steps with which a column of the Jacobian is measured. The first settles most points. Where
// it does not (strong curvature, the edge of a domain, a kink nearby) the step shrinks by 4; where
// rounding hides the derivative it grows by 4. The step with the smallest estimate is kept.
#pragma once

#include <functional>

#include "gradus/check/raw/kinks.h"
#include "gradus/check/raw/words.h"

namespace gradus::check {

/// All outputs, with the one input element in question set to t and the others left alone: as many
/// as there are at x.
using Line = std::function<Values(double t)>;

constexpr double kShrink = 0.25;
constexpr int kUsualSteps = 4;   // as many as it takes to reach the tolerance
constexpr int kMostSteps = 8;    // to see anything: next to a kink or the edge of a domain
constexpr int kLargerSteps = 3;  // where rounding hides the derivative

/// What the differences are wanted for.
struct Goal {
  Tolerance tolerance;
  double first = 3e-3;    // step, of the size of x: balances h⁶ against rounding/h for six points
  double scale = 0;       // the largest derivative seen so far
  bool thorough = false;  // take all usual steps, whatever the first one says
  double ulp = std::numeric_limits<double>::epsilon();  // of the arithmetic that f is computed in
  const Values* noise = nullptr;  // measured, of each output, where it may be more than rounding
};

/// The unit of the steps: that of this element, or of its input where the element is nearly 0.
/// An input of zeros (a fresh bias) says nothing about its unit; it is taken to be 1.
inline double unit_of(double x, double rms) {
  const double unit = std::max(std::abs(x), 0.1 * rms);
  return unit > 1e-100 ? unit : 1.0;
}

/// Steps are powers of two: x ± kh then carries no rounding of its own (or one ulp where it crosses
/// a power of two).
inline double power_of_two_below(double v) {
  int exponent = 0;
  std::frexp(v, &exponent);
  return std::ldexp(1.0, exponent - 1);
}

/// The slopes of all outputs with one step; y = f(x).
inline std::vector<Slope> slopes_at(const Line& f, double x, double h, const Values& y,
                                    const Goal& goal) {
  std::array<Values, 7> at;
  for (int k = -3; k <= 3; ++k) at[static_cast<std::size_t>(k + 3)] = k == 0 ? y : f(x + k * h);
  std::vector<Slope> result(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    std::array<double, 7> one;
    for (std::size_t k = 0; k < 7; ++k) one[k] = at[k][i];
    result[i] = measured(one, x, h, goal.ulp, goal.noise == nullptr ? 0 : (*goal.noise)[i]);
  }
  return result;
}

inline bool smooth(const Slope& s, const Goal& goal) {
  return s.finite() && !one_sided_mismatch(s, goal.scale, goal.tolerance);
}

/// No smaller step is wanted: the estimate is inside the tolerance, or it is rounding, which a
/// smaller step makes worse.
inline bool settled(const Slope& s, const Goal& goal) {
  const Tolerance& t = goal.tolerance;
  return smooth(s, goal) &&
         (t.safety * std::abs(s.change) <= t.rtol * std::abs(s.value) + t.atol * goal.scale ||
          std::abs(s.change) <= 3 * s.noise);
}

/// Rounding of f hides the slope, and nothing else does.
inline bool hidden(const Slope& s, const Goal& goal) {
  return smooth(s, goal) && s.only_rounding() && !s.looks_zero() &&
         !resolved(s, goal.scale, goal.tolerance);
}

/// The best that the steps tried for one output can say. Where the best has one-sided derivatives
/// that differ and there is no kink, f rounds more than it seems to; a smooth one says how much.
inline Slope best_of(const std::vector<Slope>& tried, const Goal& goal) {
  const Slope *best = nullptr, *best_smooth = nullptr, *best_resolved = nullptr;
  const auto keep = [](const Slope& s, const Slope*& least) {
    if (least == nullptr || s.estimate() < least->estimate()) least = &s;
  };
  for (const Slope& s : tried) {
    if (!s.finite()) continue;
    keep(s, best);
    if (!smooth(s, goal)) continue;
    keep(s, best_smooth);
    if (resolved(s, goal.scale, goal.tolerance)) keep(s, best_resolved);
  }
  if (best_resolved != nullptr) return *best_resolved;
  if (best == nullptr) return {};
  if (best == best_smooth) return *best;
  const Slope kink = kink_of(tried);
  return kink.finite() || best_smooth == nullptr ? kink : *best_smooth;
}

/// The largest of `start` and the slopes that are measured well: garbage would be larger than all.
inline double largest_resolved(const std::vector<Slope>& slopes, double start, const Tolerance& t) {
  for (const Slope& s : slopes)
    if (resolved(s, 0, t)) start = std::max(start, s.size());
  return start;
}

/// Rounding grows as the step shrinks: where it hides a slope (a saturated softmax, a small change
/// on top of a large value) larger steps see it better. h is the first step; six calls each.
inline void try_larger_steps(const Line& f, double x, double h, const Values& y, const Goal& goal,
                             std::vector<Slope>& best) {
  const auto is_hidden = [&goal](const Slope& s) { return hidden(s, goal); };
  for (int step = 0; step < kLargerSteps; ++step) {
    if (std::none_of(best.begin(), best.end(), is_hidden)) return;
    h /= kShrink;
    const std::vector<Slope> now = slopes_at(f, x, h, y, goal);
    for (std::size_t i = 0; i < best.size(); ++i) {
      if (!is_hidden(best[i]) || !smooth(now[i], goal)) continue;
      if (now[i].estimate() < best[i].estimate()) best[i] = now[i];
    }
  }
}

/// Judges one output again where no slope was found, or rounding hides it: where f hardly changes
/// but rounds by many ulps (large numbers cancel inside it), one-sided slopes differ at every step.
/// Their gap is a fourth difference; of a kink, gap·step has shrunk to 1/16 from the third step on,
/// so what is left there is rounding, if it is less than 1e4 ulps. 4 ulps are always granted.
inline void allow_for_rounding(std::vector<Slope> tried, double ulp, const Goal& goal,
                               Slope& best) {
  double rounding = 4 * ulp;
  for (std::size_t s = 2; s < tried.size(); ++s)
    rounding = std::max(rounding, tried[s].gap() * tried[s].step / 3);
  if (!(rounding <= 1e4 * ulp)) return;
  if (best.finite()) {
    best.noise = std::max(best.noise, rounding / best.step);
  } else {
    for (Slope& s : tried) s.noise = std::max(s.noise, rounding / s.step);
    best = best_of(tried, goal);
  }
}

/// What each step gave for output i.
inline void gather(const std::vector<std::vector<Slope>>& steps, std::size_t i,
                   std::vector<Slope>& tried) {
  tried.clear();
  for (const std::vector<Slope>& step : steps) tried.push_back(step[i]);
}

/// One column of the Jacobian: the slope of every output along one input element. x is that
/// element's value, y = f(x), unit as in unit_of. Calls f six times per step. Where x is not finite
/// nothing can be measured, and every value is NaN.
inline std::vector<Slope> column(const Line& f, double x, double unit, const Values& y, Goal goal) {
  std::vector<Slope> best(y.size());
  if (!std::isfinite(x) || !std::isfinite(unit)) return best;
  const double first = power_of_two_below(goal.first * unit);
  std::vector<std::vector<Slope>> steps;  // [step][output]
  std::vector<bool> done(y.size(), false), seen(y.size(), false);
  double h = first;
  for (int step = 1; step <= kMostSteps; ++step, h *= kShrink) {
    steps.push_back(slopes_at(f, x, h, y, goal));
    const std::vector<Slope>& now = steps.back();
    if (step == 1) goal.scale = largest_resolved(now, goal.scale, goal.tolerance);
    bool all_done = true;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const Slope& s = now[i];
      done[i] = done[i] || settled(s, goal);
      seen[i] = seen[i] || (resolved(s, goal.scale, goal.tolerance) && smooth(s, goal));
      all_done = all_done && (done[i] || (seen[i] && step >= kUsualSteps));
    }
    if (all_done && (step >= kUsualSteps || !goal.thorough)) break;
  }
  std::vector<Slope> tried;
  for (std::size_t i = 0; i < y.size(); ++i) {
    gather(steps, i, tried);
    best[i] = best_of(tried, goal);
  }
  try_larger_steps(f, x, first, y, goal, best);
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (best[i].finite() && !hidden(best[i], goal)) continue;
    gather(steps, i, tried);
    allow_for_rounding(tried, goal.ulp * std::abs(y[i]), goal, best[i]);
  }
  return best;
}

}  // namespace gradus::check
