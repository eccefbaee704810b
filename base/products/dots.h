// Few rows against many, both stored along the sum: each element is a dot product, and the many are
// read once, where they lie, in whatever room they take (narrow.h). A token's products while
// decoding are such, and matrix times vector.
#pragma once

#include <cstdint>
#include <cstring>

#include "gradus/base/products/narrow.h"
#include "gradus/base/products/tile.h"

namespace gradus::products {

/// Rows `stride` apart, the numbers of each side by side.
template <class T>
struct RowsOf {
  const T* data;
  std::int64_t rows, stride;
};

/// Σ of all lanes, by halves.
template <int lanes, class T, class V>
GRADUS_ALWAYS_INLINE T sum_lanes(const V& x) {
  alignas(64) T parts[lanes];
  std::memcpy(parts, &x, sizeof x);
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) parts[i] += parts[i + half];
  return parts[0];
}

/// `few` rows of x against `many` rows of y: write(i, j, x_i · y_j).
template <class Set, int few, int many, class T, class S, class Write>
GRADUS_ALWAYS_INLINE void dot_block(std::int64_t k, const T* x, std::int64_t x_stride, const S* y,
                                    std::int64_t y_stride, Write write) {
  using P = Tile<Set, T>;
  typename P::Vector sums[few][many] = {}, left[few], right;
  std::int64_t p = 0;
  for (; p + P::lanes <= k; p += P::lanes) {
#pragma GCC unroll 4
    for (int i = 0; i < few; ++i) std::memcpy(&left[i], x + i * x_stride + p, sizeof right);
#pragma GCC unroll 8
    for (int j = 0; j < many; ++j) {
      read_vector(right, y + j * y_stride + p);
#pragma GCC unroll 4
      for (int i = 0; i < few; ++i) sums[i][j] += left[i] * right;
    }
  }
  for (int i = 0; i < few; ++i)
    for (int j = 0; j < many; ++j) {
      T sum = sum_lanes<P::lanes, T>(sums[i][j]);
      for (std::int64_t rest = p; rest < k; ++rest)
        sum += x[i * x_stride + rest] * widen(y[j * y_stride + rest]);
      write(i, j, sum);
    }
}

/// All rows of x against all rows of y: write(i, j, x_i · y_j).
template <class Set, int few, class T, class S, class Write>
GRADUS_ALWAYS_INLINE void dot_rows(std::int64_t k, const RowsOf<T>& x, const RowsOf<S>& y,
                                   std::int64_t first, Write write) {
  constexpr int many = 8 / few;  // eight sums at once hide what a multiplication waits for
  std::int64_t j = 0;
  for (; j + many <= y.rows; j += many)
    dot_block<Set, few, many>(k, x.data + first * x.stride, x.stride, y.data + j * y.stride,
                              y.stride, [&](int i, int l, T sum) { write(first + i, j + l, sum); });
  for (; j < y.rows; ++j)
    dot_block<Set, few, 1>(k, x.data + first * x.stride, x.stride, y.data + j * y.stride, y.stride,
                           [&](int i, int, T sum) { write(first + i, j, sum); });
}

template <class Set, class T, class S, class Write>
GRADUS_ALWAYS_INLINE void dots(std::int64_t k, const RowsOf<T>& x, const RowsOf<S>& y,
                               Write write) {
  std::int64_t i = 0;
  for (; i + 4 <= x.rows; i += 4) dot_rows<Set, 4>(k, x, y, i, write);
  for (; i + 2 <= x.rows; i += 2) dot_rows<Set, 2>(k, x, y, i, write);
  if (i < x.rows) dot_rows<Set, 1>(k, x, y, i, write);
}

}  // namespace gradus::products
