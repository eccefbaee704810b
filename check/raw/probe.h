// Probes: the upstream gradients with which a vector-Jacobian product is asked, and the same
// contraction of a measured column of the Jacobian. Moves: the ways in which an input is changed to
// measure one.
//
// A row probe weighs a single output, a dense probe all of them. All row probes together compare
// the full Jacobian; a few dense ones and a sample of rows stand for it where it is large. So do,
// on the input's side, single elements and directions in which all elements move.
#pragma once

#include <numeric>

#include "gradus/check/raw/differences.h"
#include "gradus/check/raw/random.h"

namespace gradus::check::core {

struct Probe {
  Values weight;          // one per output, or for a row the one weight that is not 0
  std::int64_t row = -1;  // -1: dense

  bool dense() const { return row < 0; }

  Values upstream(std::size_t outputs) const {
    if (dense()) return weight;
    Values result(outputs, 0.0);
    result[static_cast<std::size_t>(row)] = weight[0];
    return result;
  }
};

inline Probe row_probe(std::int64_t row, Random& random) { return {{random.upstream()}, row}; }

inline Probe dense_probe(std::size_t outputs, Random& random) {
  Probe result;
  result.weight.resize(outputs);
  for (double& w : result.weight) w = random.upstream();
  return result;
}

/// `some` different numbers below `count` (all of them if there are no more), in rising order.
inline std::vector<std::int64_t> sample(std::int64_t count, std::int64_t some, Random& random) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::int64_t i = 0; i < some && some < count; ++i) {  // Fisher-Yates, as far as needed
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(i + random.below(count - i))]);
  }
  order.resize(static_cast<std::size_t>(std::min(some, count)));
  std::sort(order.begin(), order.end());
  return order;
}

/// `rows` rows, then `dense` dense probes.
inline std::vector<Probe> make_probes(std::int64_t outputs, std::int64_t rows, int dense,
                                      Random& random) {
  std::vector<Probe> result;
  for (std::int64_t row : sample(outputs, rows, random)) result.push_back(row_probe(row, random));
  // With one output a dense probe is a row probe.
  for (int i = 0; i < dense && outputs > 1; ++i) {
    result.push_back(dense_probe(static_cast<std::size_t>(outputs), random));
  }
  return result;
}

/// One element of an input, or a direction for all of them.
struct Move {
  std::int64_t element = -1;  // -1: along `direction`
  Values direction = {};

  bool along() const { return element < 0; }

  /// What a gradient says of this move.
  double of(const Values& gradient) const {
    if (!along()) return gradient[static_cast<std::size_t>(element)];
    return std::inner_product(gradient.begin(), gradient.end(), direction.begin(), 0.0);
  }
};

/// All elements of x, or `some` of them and as many directions as `dense` says. A direction moves
/// each element in its own unit.
inline std::vector<Move> make_moves(const Values& x, bool all, std::int64_t some, int dense,
                                    Random& random) {
  const auto count = static_cast<std::int64_t>(x.size());
  std::vector<Move> result;
  for (std::int64_t j : sample(count, all ? count : some, random)) result.push_back({j, {}});
  const double typical = rms(x);
  for (int d = 0; d < dense && !all; ++d) {
    Move move;
    for (const double v : x) {
      move.direction.push_back(unit_of(v, typical) * random.upstream() / 2.5);
    }
    result.push_back(std::move(move));
  }
  return result;
}

/// What remains of a dense probe, or of a direction, between two places.
inline Values between(const Values& all, std::int64_t from, std::int64_t to) {
  Values result(all.size(), 0.0);
  std::copy(all.begin() + from, all.begin() + to, result.begin() + from);
  return result;
}

inline Probe part_of(const Probe& probe, std::int64_t from, std::int64_t to) {
  return {between(probe.weight, from, to), -1};
}

inline Move part_of(const Move& move, std::int64_t from, std::int64_t to) {
  return {-1, between(move.direction, from, to)};
}

inline Slope scaled(const Slope& s, double w) {
  Slope result = s;
  result.value *= w;
  result.change *= w;
  result.noise *= std::abs(w);
  result.left *= w;
  result.right *= w;
  return result;
}

/// The slope of Σ wᵢ·outᵢ. Changes add with their signs, for the stencils are linear; roundings are
/// independent and add in squares; the interval of a kink is widened at its two ends.
inline Slope contract(const std::vector<Slope>& column, const Probe& probe) {
  if (!probe.dense()) return scaled(column[static_cast<std::size_t>(probe.row)], probe.weight[0]);
  Slope sum;
  sum.value = 0;
  double noise2 = 0;
  for (std::size_t i = 0; i < column.size(); ++i) {
    if (probe.weight[i] == 0) continue;
    const Slope s = scaled(column[i], probe.weight[i]);
    sum.value += s.value;
    sum.change += s.change;
    sum.left += s.lower();
    sum.right += s.upper();
    sum.kink = sum.kink || s.kink;
    noise2 += s.noise * s.noise;
  }
  sum.noise = std::sqrt(noise2);
  return sum;
}

}  // namespace gradus::check::core
