// Measures a column of the Jacobian and chooses the step. The step shrinks by 4 for curvature, the
// edge of a domain, or a nearby kink. It grows by 4 if rounding hides the derivative. The slope
// with the smallest error estimate is used.
#pragma once

#include <functional>

#include "gradus/check/raw/kinks.h"
#include "gradus/check/raw/words.h"

namespace gradus::check {

/// All outputs as a function of a change of one input element.
using LineFunction = std::function<Values(double t)>;

constexpr double kShrink = 0.25;
constexpr int kUsualSteps = 4;   // enough to reach the tolerance
constexpr int kMostSteps = 8;    // next to a kink or the edge of a domain
constexpr int kLargerSteps = 5;  // if rounding hides the derivative

struct Goal {
  Tolerance tolerance;
  double first = 3e-3;  // relative to x; balances h⁶ against rounding/h
  double scale = 0;     // largest derivative measured so far
  bool thorough = false;
  double ulp = std::numeric_limits<double>::epsilon();
  double unit = 1;         // unit of x
  double natural = 1;      // typical size of x for a dimensionless f, such as exp
  double terms = 0;        // rounding error from intermediate terms that may be larger than f
  bool one_sided = false;  // allow one-sided differences
  const Values* noise = nullptr;  // noise per output, if it may exceed rounding
};

/// The unit of the steps: the size of the element, or the size of its input if the element is
/// nearly 0. For an input of zeros, the unit is 1.
inline double unit_of(double x, double rms) {
  const double unit = std::max(std::abs(x), 0.1 * rms);
  return unit > 1e-100 ? unit : 1.0;
}

/// Rounds v down to a power of two. x ± kh then has no rounding error, or one ulp if it crosses a
/// power of two.
inline double power_of_two_below(double v) {
  int exponent = 0;
  std::frexp(v, &exponent);
  return std::ldexp(1.0, exponent - 1);
}

inline double interpolated(const std::array<double, 7>& f, double t) {
  double sum = 0;
  for (int i = -3; i <= 3; ++i) {
    double term = f[static_cast<std::size_t>(i + 3)];
    for (int k = -3; k <= 3; ++k)
      if (k != i) term *= (t - k) / (i - k);
    sum += term;
  }
  return sum;
}

inline std::vector<Slope> slopes_at(const LineFunction& f, double x, double h, const Values& y,
                                    const Goal& goal) {
  std::array<Values, 7> at;
  for (int k = -3; k <= 3; ++k) at[static_cast<std::size_t>(k + 3)] = k == 0 ? y : f(x + k * h);
  // Detects aliasing: at points h apart, a short wave can look like a long one.
  constexpr double between = 0.618;
  const Values other = h > goal.natural ? f(x + between * h) : Values();
  std::vector<Slope> result(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    std::array<double, 7> one;
    for (std::size_t k = 0; k < 7; ++k) one[k] = at[k][i];
    const double noise = goal.noise == nullptr ? 0 : (*goal.noise)[i];
    result[i] = measured(one, x, h, goal.ulp, noise);
    if (goal.one_sided && !result[i].finite()) result[i] = one_sided(one, x, h, goal.ulp, noise);
    result[i].bend *= goal.unit;
    if (other.empty()) continue;
    const auto [low, high] = std::minmax_element(one.begin(), one.end());
    const double allowed = 0.01 * (*high - *low) + 16 * goal.ulp * std::abs(y[i]) + 16 * noise;
    if (!(std::abs(interpolated(one, between) - other[i]) <= allowed)) result[i] = {};
  }
  return result;
}

inline bool smooth(const Slope& s, const Goal& goal) {
  return s.finite() && !one_sided_mismatch(s, goal.scale, goal.tolerance);
}

/// True if the error estimate is within the tolerance, or consists of rounding errors, which a
/// smaller step would increase.
inline bool settled(const Slope& s, const Goal& goal) {
  const Tolerance& t = goal.tolerance;
  return smooth(s, goal) &&
         (t.safety * std::abs(s.change) <= t.rtol * std::abs(s.value) + t.atol * goal.scale ||
          std::abs(s.change) <= 3 * s.noise);
}

inline bool hidden(const Slope& s, const Goal& goal) {
  return smooth(s, goal) && s.only_rounding() && !s.looks_zero() &&
         !resolved(s, goal.scale, goal.tolerance);
}

/// Returns the best slope of one output. Prefers a smooth slope: if one-sided derivatives differ
/// without a kink, f has larger rounding errors than its value suggests.
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

/// Returns the largest derivative, at least `start`. Ignores inaccurate slopes, which may be
/// arbitrarily large.
inline double largest_resolved(const std::vector<Slope>& slopes, double start, const Tolerance& t) {
  for (const Slope& s : slopes)
    if (resolved(s, 0, t)) start = std::max(start, s.size());
  return start;
}

/// Determines the rounding errors of outputs that have no slope, or a slope hidden by rounding. If
/// large terms cancel inside f, rounding errors of many ulps make the one-sided slopes differ at
/// every step. Their gap is a fourth difference. At a kink, gap · step is proportional to the step:
/// the third step has 1/16 of the value of the first. A gap · step below 1e4 ulps at that step is
/// therefore a rounding error. 4 ulps are always allowed.
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

/// One column of the Jacobian: the slope of every output along one input element x, with y = f(x).
/// Each step costs six calls of f. If x is not finite, all slopes are NaN.
///
/// Steps shrink from the unit. Outputs that remain unsettled are also measured with larger steps,
/// with steps that start at the size of x or at the natural size, and with one-sided differences.
class JacobianColumn {
 public:
  JacobianColumn(const LineFunction& f, double x, double unit, const Values& y, const Goal& goal)
      : f_(f), x_(x), unit_(unit), y_(y), goal_(goal), best_(y.size()), stairs_(y.size(), 0.0) {}

  std::vector<Slope> measure() {
    if (!std::isfinite(x_) || !std::isfinite(unit_)) return best_;
    const double first = step_for(unit_), natural = step_for(goal_.natural);
    std::vector<std::vector<Slope>> tried = shrinking(first);
    for (std::size_t i = 0; i < y_.size(); ++i) best_[i] = best(tried[i], i);
    small_ = natural > 32 * first;
    if (small_ && rises(natural)) look_from(natural);
    try_larger_steps(small_ ? natural : first);
    if (small_ && goal_.thorough) confirm(first, natural);
    if (step_for(x_) < first && (any(&JacobianColumn::unseen) || any(&JacobianColumn::rough)))
      look_from(step_for(x_));
    if (natural < first && any(&JacobianColumn::unseen)) look_from(natural);
    goal_.one_sided = true;
    if (any(&JacobianColumn::unseen)) look_from(first);
    for (std::size_t i = 0; i < y_.size(); ++i) {
      if (!best_[i].finite() || hidden(best_[i], goal_))
        allow_for_rounding(tried[i], goal_.ulp * std::abs(y_[i]), goal_, best_[i]);
      if (drowned(i) && best_[i].noise > 0 && best_[i].step < 0x1p-30 * goal_.natural)
        best_[i] = {};
    }
    return best_;
  }

 private:
  using Steps = std::vector<std::vector<Slope>>;  // [output][step]

  double step_for(double unit) const { return power_of_two_below(goal_.first * unit); }

  template <class Property>
  bool any(Property property) const {
    for (std::size_t i = 0; i < y_.size(); ++i)
      if ((this->*property)(i)) return true;
    return false;
  }
  bool unseen(std::size_t i) const {
    const Slope& s = best_[i];
    if (s.kink) return false;
    return !smooth(s, goal_) ||
           !(s.only_rounding() || within(s, 1e-4, goal_.scale, goal_.tolerance));
  }
  /// True if only rounding errors are visible, and they could hide a relevant derivative.
  bool drowned(std::size_t i) const {
    const Slope& s = best_[i];
    return s.looks_zero() && (s.noise == 0 || !resolved(s, goal_.scale, goal_.tolerance));
  }
  bool rough(std::size_t i) const {
    const Slope& s = best_[i];
    if (hidden(s, goal_)) return true;
    if (!smooth(s, goal_) || (s.value == 0 && s.change == 0)) return false;
    if (small_) return !within(s, goal_.tolerance.rtol, 0, goal_.tolerance);
    return (rounded_[i] || s.only_rounding()) && !within(s, 1e-3, goal_.scale, goal_.tolerance);
  }

  Steps shrinking(double h) {
    Steps tried(y_.size());
    std::vector<bool> done(y_.size(), false);
    std::vector<int> seen(y_.size(), 0);
    rounded_ = done;
    for (int step = 1; step < kMostSteps + kUsualSteps; ++step, h *= kShrink) {
      const std::vector<Slope> now = slopes_at(f_, x_, h, y_, goal_);
      for (std::size_t i = 0; i < y_.size(); ++i) {
        if (!rounded_[i]) take(now[i], tried[i], seen[i]);
        rounded_[i] = rounded_[i] ||
                      (seen[i] > 1 && tried[i].back().estimate() > tried[i].end()[-2].estimate());
        done[i] = done[i] || rounded_[i] || settled(now[i], goal_) ||
                  (seen[i] == 0 ? step >= kMostSteps : seen[i] >= kUsualSteps);
      }
      goal_.scale = 0;
      for (const std::vector<Slope>& steps : tried)
        goal_.scale = largest_resolved(steps, goal_.scale, goal_.tolerance);
      const bool all_done = std::find(done.begin(), done.end(), false) == done.end();
      if (all_done && (step >= kUsualSteps || !goal_.thorough)) break;
    }
    return tried;
  }

  /// Returns the best slope of output i. If f is a staircase, a small step may stay on one stair
  /// and appear exact. The error therefore includes the stairs found with larger steps.
  Slope best(const std::vector<Slope>& tried, std::size_t i) {
    for (const Slope& s : tried) stairs_[i] = std::max(stairs_[i], 8 * s.jitter * s.step);
    return with_noise(best_of(tried, goal_), i);
  }

  /// Adds the noise of the stairs to a slope. If f is constant and no larger than the rounding
  /// error of its terms, its value may be only rounding.
  Slope with_noise(Slope s, std::size_t i) const {
    double noise = stairs_[i] < goal_.terms / 16 ? 0 : std::min(stairs_[i], goal_.terms);
    if (s.value == 0 && std::abs(y_[i]) <= 4 * goal_.terms) noise = goal_.terms;
    s.noise = std::max(s.noise, noise / s.step);
    return s;
  }

  /// Adds a slope. If an earlier slope differs from it by more than their estimates allow, raises
  /// the earlier estimate, which was too small by chance.
  void take(const Slope& now, std::vector<Slope>& tried, int& seen) const {
    const Tolerance& t = goal_.tolerance;
    for (Slope& before : tried) {
      const double apart = now.value - before.value;
      if (std::abs(apart) > t.safety * (now.estimate() + before.estimate())) before.change = apart;
    }
    seen = resolved(now, goal_.scale, t) && smooth(now, goal_) ? seen + 1 : 0;
    tried.push_back(now);
  }

  /// Tries steps from h on for inaccurate outputs. Any slope that exceeds rounding is better than
  /// none.
  void look_from(double h) {
    std::vector<bool> nothing, wanted;
    for (std::size_t i = 0; i < y_.size(); ++i) {
      nothing.push_back(drowned(i) || !best_[i].finite());
      wanted.push_back(nothing[i] || rough(i) || unseen(i));
    }
    const Steps tried = shrinking(h);
    for (std::size_t i = 0; i < y_.size(); ++i) {
      const Slope now = best(tried[i], i);
      if (!wanted[i] || !smooth(now, goal_)) continue;
      const bool shown = !now.looks_zero() && resolved(now, goal_.scale, goal_.tolerance);
      if ((nothing[i] && shown) || !(best_[i].estimate() <= now.estimate())) best_[i] = now;
    }
  }

  /// Compares slopes with those of larger steps until they agree. Near 0, f may round terms of size
  /// 1, such as exp(x), to values that look exact. Only such errors shrink as the step grows.
  void confirm(double h, double natural) {
    const Tolerance& t = goal_.tolerance;
    for (bool agree = false; !agree && (h *= 16) <= natural;) {
      const std::vector<Slope> larger = slopes_at(f_, x_, h, y_, goal_);
      agree = true;
      for (std::size_t i = 0; i < y_.size(); ++i) {
        Slope& s = best_[i];
        if (s.step >= h || !smooth(s, goal_) || !smooth(larger[i], goal_)) continue;
        const double apart = std::abs(larger[i].value - s.value);
        if (apart <= 0.1 * (t.rtol * s.size() + t.atol * goal_.scale)) continue;
        agree = false;
        s.change = std::max(std::abs(s.change), apart);
        if (larger[i].estimate() < s.estimate()) s = larger[i];
      }
    }
  }

  /// True if steps of the natural size should be tried. If steps of size unit leave f unchanged,
  /// f(x ± h) distinguishes a constant function from one that changes on one side.
  bool rises(double h) {
    if (any(&JacobianColumn::rough)) return true;
    if (!any(&JacobianColumn::drowned)) return false;
    const Values up = f_(x_ + h), down = f_(x_ - h);
    bool result = false;
    for (std::size_t i = 0; i < y_.size(); ++i) {
      if (!drowned(i)) continue;
      result = result || (up[i] != y_[i] && down[i] != y_[i]);
      if (up[i] != y_[i] || down[i] != y_[i]) continue;
      best_[i] = measured({y_[i], y_[i], y_[i], y_[i], y_[i], y_[i], y_[i]}, x_, h, goal_.ulp, 0);
    }
    return result;
  }

  /// Tries larger steps, which reduce the effect of rounding (a saturated softmax).
  void try_larger_steps(double h) {
    for (int step = 0; step < kLargerSteps && any(&JacobianColumn::rough); ++step) {
      h /= kShrink;
      std::vector<Slope> now = slopes_at(f_, x_, h, y_, goal_);
      bool better = false;
      for (std::size_t i = 0; i < y_.size(); ++i) {
        // The smaller step already excluded a kink and measured the jitter.
        now[i] = with_noise(now[i], i);
        const double apart = std::abs(now[i].value - best_[i].value), share = best_[i].step / h;
        now[i].jitter = std::max(std::min(now[i].jitter, best_[i].jitter * share), apart * share);
        if (!rough(i) || !now[i].finite() || now[i].estimate() >= best_[i].estimate()) continue;
        best_[i] = now[i];
        better = true;
      }
      if (!better) return;
    }
  }

  const LineFunction& f_;
  const double x_, unit_;
  const Values& y_;
  Goal goal_;
  std::vector<Slope> best_;
  Values stairs_;              // jitter per output
  std::vector<bool> rounded_;  // the second step was worse than the first
  bool small_ = false;         // the unit is much smaller than the natural size
};

/// Measures all outputs with a series of steps, the largest first, for an element of the given size
/// and the unit of its input. Unlike those of JacobianColumn, no step is a power of two, so they
/// sample a wave at other points. Costs about 70 calls of f, or half as many if `few`.
inline std::vector<std::vector<Slope>> slopes_at_other_steps(const LineFunction& f, double x,
                                                             double size, double unit, bool few,
                                                             const Values& y, Goal goal) {
  goal.one_sided = true;
  constexpr double smallest = 0x1p-42;
  const double shrink = few ? 0.09 * 0.09 : 0.09;
  std::vector<std::vector<Slope>> result;
  double h = std::numeric_limits<double>::infinity();
  for (const double start : {std::max(goal.natural, unit), unit, size})
    for (h = std::min(h, 16 * goal.first * start); h > smallest * start; h *= shrink) {
      result.push_back(slopes_at(f, x, h, y, goal));
      for (Slope& s : result.back()) s.step = h;
    }
  return result;
}

/// True if the failure of a depends on the step with which n was measured. `others` are slopes at
/// other steps. One of these holds:
/// - A slope contradicts n by more than their estimates, and accepts a. Larger steps count only if
///   fewer than two smaller ones confirm n.
/// - No slope confirms n: none agrees with n and excludes a.
/// - n has no correct digit, though rounding is small, and a smaller step contradicts n or accepts
///   a, or the slope grows and grows: oscillations, or an infinite derivative nearby.
/// - The values of f are stairs as high as the rounding of 1, as of log(1 - ε), which hide a.
inline bool depends_on_step(double a, const Slope& n, const std::vector<Slope>& others, double size,
                            const Goal& goal) {
  const Tolerance& t = goal.tolerance;
  const auto accepts = [&](const Slope& s) {
    return judge(a, s, goal.scale, t).verdict != Verdict::fail;
  };
  const auto rounded = [](const Slope& s) { return s.estimate() <= 1e3 * s.noise; };
  int confirmed = 0, confirmed_below = 0, growing = 0;
  bool contradicted = false, contradicted_above = false, lost = false;
  bool flat = false, rises = n.value != 0;
  double before = n.value;
  for (const Slope& s : others) {
    if (!s.finite()) continue;
    const bool constant = s.value == 0 && s.change == 0 && s.jitter == 0, below = s.step < n.step;
    flat = flat || constant;
    rises = rises || !constant;
    if (below && !rounded(s)) {
      growing = s.value * before > 0 && std::abs(s.value) > 2 * std::abs(before) ? growing + 1 : 0;
      before = s.value;
      lost = lost || accepts(s) || growing == 3;
    }
    // Terms of f that are larger than f may hide a change within such a small step.
    const bool too_small = constant && s.step < 0x1p-33 * size;
    if (too_small || !smooth(s, goal)) continue;
    const double apart = std::max(n.lower() - s.value, s.value - n.upper());
    if (apart > t.safety * (s.estimate() + n.estimate())) {
      (below ? contradicted : contradicted_above) |= accepts(s);
      lost = lost || below;
    } else if (!accepts(s)) {
      ++confirmed;
      confirmed_below += below ? 1 : 0;
    }
  }
  if (contradicted || (contradicted_above && confirmed_below < 2)) return true;
  if (confirmed == 0 && !n.kink) return true;
  if (lost && !n.kink && !rounded(n) && !resolved(n, goal.scale, t)) return true;
  return flat && rises && std::abs(a - n.value) * n.step <= t.safety * goal.ulp;
}

}  // namespace gradus::check
