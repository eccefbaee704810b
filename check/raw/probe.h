// Determines which derivatives are compared. A probe is an upstream gradient: one output (a row of
// the Jacobian), or dense (a weighted sum of all outputs). A move changes one element of an input,
// or all elements along a direction. Large Jacobians are sampled.
#pragma once

#include <numeric>

#include "gradus/check/raw/differences.h"
#include "gradus/check/raw/random.h"

namespace gradus::check {

struct Probe {
  Values weight;                        // one weight per output; a single weight for a row
  std::optional<std::size_t> row = {};  // empty if dense
  Arguments answer = {};

  bool dense() const { return !row; }
  Values upstream(std::size_t outputs) const {
    if (dense()) return weight;
    Values result(outputs, 0.0);
    result[*row] = weight[0];
    return result;
  }
};

struct Move {
  std::optional<std::size_t> element = {};  // empty: moves along `direction`
  Values direction = {};
  std::vector<Slope> slopes = {};   // [probe]
  double largest = 0;               // largest measured derivative of an output
  std::vector<bool> unsteady = {};  // [probe]: a failure depends on the step; empty: not measured

  bool along() const { return !element; }
  double of(const Values& gradient) const {
    if (!along()) return gradient[*element];
    return std::inner_product(gradient.begin(), gradient.end(), direction.begin(), 0.0);
  }
  bool blind() const {
    return std::any_of(slopes.begin(), slopes.end(), [](const Slope& n) { return !n.finite(); });
  }
  bool kinked() const {
    return std::any_of(slopes.begin(), slopes.end(),
                       [](const Slope& n) { return n.kink && n.lower() != n.upper(); });
  }
};

inline std::vector<std::size_t> sample(std::size_t count, std::size_t some, Random& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = 0; i < some && some < count; ++i) {  // partial Fisher-Yates
    const std::int64_t rest = random.below(static_cast<std::int64_t>(count - i));
    std::swap(order[i], order[i + static_cast<std::size_t>(rest)]);
  }
  order.resize(std::min(some, count));
  return order;
}

inline std::vector<Probe> make_probes(std::size_t outputs, std::size_t rows, int dense,
                                      Random& random) {
  std::vector<Probe> result;
  for (const std::size_t row : sample(outputs, rows, random))
    result.push_back({{random.upstream()}, row});
  for (int i = 0; i < dense && outputs > 1; ++i) {
    result.push_back({Values(outputs)});
    for (double& w : result.back().weight) w = random.upstream();
  }
  return result;
}

/// Returns one move per element of x, or `some` of them and `dense` directions. Along a direction,
/// each element moves by a multiple of its own unit.
inline std::vector<Move> make_moves(const Values& x, bool all, std::size_t some, int dense,
                                    Random& random) {
  std::vector<Move> result;
  for (const std::size_t j : sample(x.size(), all ? x.size() : some, random)) result.push_back({j});
  const double typical = rms(x);
  for (int d = 0; d < dense && !all; ++d) {
    result.emplace_back();
    for (const double v : x)
      result.back().direction.push_back(unit_of(v, typical) * random.upstream() / 2.5);
  }
  return result;
}

inline Values part_of(const Values& all, std::size_t from, std::size_t to) {
  Values result(all.size(), 0.0);
  for (std::size_t i = from; i < to; ++i) result[i] = all[i];
  return result;
}

inline Slope scaled(const Slope& s, double w) {
  const double m = std::abs(w);
  return {w * s.value, w * s.change, m * s.noise, m * s.jitter, w * s.left, w * s.right,
          s.step,      m * s.turn,   m * s.bend,  s.kink,       s.declared};
}

/// Returns the slope of Σ wᵢ·outᵢ. Changes add up with their signs, because stencils are linear.
/// Rounding errors are independent, so their squares add up. The interval of a kink widens at both
/// ends.
inline Slope contract(const std::vector<Slope>& column, const Probe& probe) {
  if (!probe.dense()) return scaled(column[*probe.row], probe.weight[0]);
  Slope sum{.value = 0};
  double noise2 = 0, jitter2 = 0, largest = 0;
  for (std::size_t i = 0; i < column.size(); ++i) {
    const Slope& s = column[i];
    const double w = probe.weight[i], m = std::abs(w);
    if (w == 0) continue;
    sum.value += w * s.value;
    sum.change += w * s.change;
    if (m * s.size() >= largest) {
      largest = m * s.size();
      sum.step = s.step;
    }
    sum.left += std::min(w * s.lower(), w * s.upper());
    sum.right += std::max(w * s.lower(), w * s.upper());
    sum.kink = sum.kink || s.kink;
    sum.bend += m * s.bend;
    noise2 += w * w * s.noise * s.noise;
    jitter2 += w * w * s.jitter * s.jitter;
  }
  sum.noise = std::sqrt(noise2);
  sum.jitter = std::sqrt(jitter2);
  return sum;
}

inline std::vector<Slope> contracted(const std::vector<Slope>& column,
                                     const std::vector<Probe>& probes) {
  std::vector<Slope> result(probes.size());
  for (std::size_t p = 0; p < probes.size(); ++p) result[p] = contract(column, probes[p]);
  return result;
}

/// Returns the slope of a probe at each of the other steps. In a sum, an output that is not smooth
/// at a step has its usual slope; for the largest output, the gap counts as an error.
inline std::vector<Slope> contracted(const std::vector<std::vector<Slope>>& others,
                                     const std::vector<Slope>& usual, const Probe& probe) {
  std::size_t largest = 0;
  for (std::size_t i = 1; i < usual.size() && probe.dense(); ++i)
    if (std::abs(probe.weight[i]) * usual[i].size() >
        std::abs(probe.weight[largest]) * usual[largest].size())
      largest = i;
  std::vector<Slope> result;
  for (std::vector<Slope> other : others) {
    const double step = other.empty() ? 0 : other[0].step;
    for (std::size_t i = 0; i < other.size() && probe.dense(); ++i) {
      if (smooth(other[i], {})) continue;
      if (i != largest) other[i] = usual[i];
      if (i == largest) other[i].jitter = std::max(other[i].jitter, other[i].gap());
    }
    result.push_back(contract(other, probe));
    result.back().step = step;
  }
  return result;
}

}  // namespace gradus::check
