// Row-major arrays and indices. check/raw defines its own types because it includes no other part
// of Gradus.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

// Large functions are inline unless gradus::check_quick, which contains them, is linked. The
// library defines GRADUS_CHECK_COMPILED.
#ifdef GRADUS_CHECK_COMPILED
#define GRADUS_CHECK_INLINE
#elif !defined(GRADUS_CHECK_INLINE)
#define GRADUS_CHECK_INLINE inline
#endif

namespace gradus::check {

using Values = std::vector<double>;
using Dims = std::vector<std::int64_t>;

using Arguments = std::vector<Values>;

inline std::size_t count_of(const Dims& shape) {
  std::size_t result = 1;
  for (const std::int64_t n : shape) result *= static_cast<std::size_t>(n);
  return result;
}

/// Returns the index of an element: in shape [2,5], element 7 has index [1,2].
inline Dims index_of(std::size_t element, const Dims& shape) {
  Dims result(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto n = static_cast<std::size_t>(shape[axis]);
    result[axis] = static_cast<std::int64_t>(element % n);
    element /= n;
  }
  return result;
}

/// Returns the element at an index: in shape [2,5], index [1,2] is element 7.
inline std::size_t element_at(const Dims& index, const Dims& shape) {
  std::int64_t result = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    result = result * shape[axis] + index[axis];
  return static_cast<std::size_t>(result);
}

inline double largest_of(const Values& x) {
  double result = 0;
  for (const double v : x)
    if (std::isfinite(v)) result = std::max(result, std::abs(v));
  return result;
}

/// Returns the root mean square, scaled to avoid overflow.
inline double rms(const Values& x) {
  double largest = 0, sum = 0;
  for (const double v : x) largest = std::max(largest, std::abs(v));
  if (!(largest > 0)) return 0;
  for (const double v : x) sum += (v / largest) * (v / largest);
  return largest * std::sqrt(sum / static_cast<double>(x.size()));
}

/// True if a and b are equal up to `share` of the largest value. NaN equals NaN.
inline bool close(const Values& a, const Values& b, double share) {
  const double allowed = share * std::max(largest_of(a), largest_of(b));
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [allowed](double u, double v) {
    return u == v || (std::isnan(u) && std::isnan(v)) || std::abs(u - v) <= allowed;
  });
}

inline Values scaled(Values x, double factor) {
  for (double& v : x) v *= factor;
  return x;
}

/// Returns dy times a Jacobian of shape [outputs, elements].
inline Values times_rows(const Values& dy, const Values& jacobian) {
  Values dx(dy.empty() ? 0 : jacobian.size() / dy.size(), 0.0);
  for (std::size_t i = 0; i < dy.size(); ++i)
    for (std::size_t j = 0; j < dx.size(); ++j) dx[j] += dy[i] * jacobian[i * dx.size() + j];
  return dx;
}

/// A row-major matrix of shape [rows, columns].
struct SmallMatrix {
  std::size_t rows, columns;
  Values values = Values(rows * columns, 0.0);
  double& operator()(std::size_t i, std::size_t j) { return values[i * columns + j]; }
  double operator()(std::size_t i, std::size_t j) const { return values[i * columns + j]; }
};

inline SmallMatrix transposed(const SmallMatrix& a) {
  SmallMatrix b{a.columns, a.rows};
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < a.columns; ++j) b(j, i) = a(i, j);
  return b;
}

}  // namespace gradus::check
