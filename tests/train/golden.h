#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus::testing {

/// Returns the largest difference, divided by max(1, max |b|). Returns infinity if shapes differ or
/// values are not finite.
inline double apart(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return INFINITY;
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  double most = 0, size = 1;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) return INFINITY;
    most = std::max(most, std::abs(x[i] - y[i]));
    size = std::max(size, std::abs(y[i]));
  }
  return most / size;
}

}  // namespace gradus::testing
