// Probes: the upstream gradients with which a vector-Jacobian product is asked, and the same
// contraction of a measured column of the Jacobian.
//
// A row probe weighs a single output, a dense probe all of them. All row probes together compare
// the full Jacobian; a few dense ones and a sample of rows stand for it where it is large.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "gradus/check/raw/differences.h"
#include "gradus/check/raw/random.h"

namespace gradus::check::raw {

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

inline Probe row_probe(std::int64_t row, Random& random) {
  return {{random.upstream()}, row};
}

inline Probe dense_probe(std::size_t outputs, Random& random) {
  Probe result;
  result.weight.resize(outputs);
  for (double& w : result.weight) w = random.upstream();
  return result;
}

/// `rows` different rows (all of them if there are no more), in rising order, then `dense` dense
/// ones.
inline std::vector<Probe> make_probes(std::int64_t outputs, std::int64_t rows, int dense,
                                      Random& random) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(outputs));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  rows = std::min(rows, outputs);
  for (std::int64_t i = 0; i < rows && rows < outputs; ++i) {  // Fisher-Yates, as far as needed
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(i + random.below(outputs - i))]);
  }
  order.resize(static_cast<std::size_t>(rows));
  std::sort(order.begin(), order.end());
  std::vector<Probe> result;
  for (std::int64_t row : order) result.push_back(row_probe(row, random));
  // With one output a dense probe is a row probe.
  for (int i = 0; i < dense && outputs > 1; ++i) {
    result.push_back(dense_probe(static_cast<std::size_t>(outputs), random));
  }
  return result;
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

}  // namespace gradus::check::raw
