// Dot products of a few rows with many rows, all contiguous along the sum. Reads the many rows
// once, in any storage format (narrow.h). Used for decoding and matrix-vector products.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include "gradus/engine/gemm/narrow.h"
#include "gradus/engine/gemm/tile.h"

namespace gradus::gemm {

/// Rows that are `stride` apart. Each group of kScaled int8 values in a row shares a scale.
template <class T>
struct RowsOf {
  const T* data;
  std::int64_t rows, stride;
  const float* scales = nullptr;
  std::int64_t scales_stride = 0;

  RowsOf from(std::int64_t i) const {
    return {data + i * stride, rows - i, stride, scales + i * scales_stride, scales_stride};
  }
};

/// Adds the upper half of x's lanes to the lower half.
template <class Half, class V, int... i>
GRADUS_ALWAYS_INLINE void add_halves(Half& sum, const V& x, std::integer_sequence<int, i...>) {
  constexpr int n = sizeof...(i);
  sum = __builtin_shufflevector(x, x, i...) + __builtin_shufflevector(x, x, n + i...);
}

/// Sums all lanes by halving.
template <class T, class V>
GRADUS_ALWAYS_INLINE T sum_lanes(const V& x) {
  constexpr int half = sizeof(V) / sizeof(T) / 2;
  if constexpr (half == 1) {
    return x[0] + x[1];
  } else {
    typename VectorOf<T, sizeof(V) / 2>::Type sum;
    add_halves(sum, x, std::make_integer_sequence<int, half>{});
    return sum_lanes<T>(sum);
  }
}

/// Running sums of one dot product: 64 bytes with every instruction set, so that the order of
/// summation is the same.
template <class Set, class T>
struct Sums {
  static constexpr int vectors = 64 / Set::bytes;
  static constexpr std::int64_t lanes = 64 / sizeof(T);
  typename Tile<Set, T>::Vector part[vectors] = {};

  GRADUS_ALWAYS_INLINE T total() {
#pragma GCC unroll 2
    for (int half = vectors / 2; half > 0; half /= 2)
#pragma GCC unroll 2
      for (int v = 0; v < half; ++v) part[v] += part[v + half];
    return sum_lanes<T>(part[0]);
  }
};

/// Prefetch distance in bytes. The hardware prefetcher does not track eight short interleaved rows.
inline constexpr std::int64_t kAhead = 16384;

/// Calls write(i, j, x_i · y_j) for the first `few` rows of x and the first `many` of y.
template <class Set, int few, int many, class T, class S, class Write>
GRADUS_ALWAYS_INLINE void dot_block(std::int64_t k, const RowsOf<T>& x, const RowsOf<S>& y,
                                    Write write) {
  using Vector = typename Tile<Set, T>::Vector;
  constexpr int vectors = Sums<Set, T>::vectors;
  constexpr std::int64_t lanes = Sums<Set, T>::lanes, width = Tile<Set, T>::lanes,
                         step_bytes = lanes * std::int64_t{sizeof(S)};
  constexpr bool scaled = std::is_same_v<S, std::int8_t>;
  const auto scale = [&](std::int64_t j, std::int64_t p) {
    return scaled ? y.scales[j * y.scales_stride + p / kScaled] : 1;
  };
  const auto* ahead = reinterpret_cast<const char*>(y.data) + kAhead;
  const std::int64_t whole = k / lanes * lanes;
  Sums<Set, T> sums[few][many];
  Vector left[few], right;
  for (std::int64_t p = 0; p < whole;) {
    const std::int64_t first = p, end = scaled ? std::min(whole, p + kScaled) : whole;
    Sums<Set, T> part[few][many];
    for (; p < end; p += lanes) {
#pragma GCC unroll 8
      for (int j = 0; j < many; ++j)
        if (few == 1 && j * step_bytes % 64 == 0)
          __builtin_prefetch(ahead + p * many * std::int64_t{sizeof(S)} + j * step_bytes, 0, 2);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
#pragma GCC unroll 4
        for (int i = 0; i < few; ++i) read_vector(left[i], x.data + i * x.stride + p + v * width);
#pragma GCC unroll 8
        for (int j = 0; j < many; ++j) {
          read_vector(right, y.data + j * y.stride + p + v * width);
#pragma GCC unroll 4
          for (int i = 0; i < few; ++i) Set::multiply_add(part[i][j].part[v], left[i], right);
        }
      }
    }
    for (int i = 0; i < few; ++i)
      for (int j = 0; j < many; ++j)
        for (int v = 0; v < vectors; ++v)
          sums[i][j].part[v] += part[i][j].part[v] * scale(j, first);
  }
  for (int i = 0; i < few; ++i)
    for (int j = 0; j < many; ++j) {
      T sum = sums[i][j].total();
      for (std::int64_t p = whole; p < k; ++p)
        sum += x.data[i * x.stride + p] * (widen(y.data[j * y.stride + p]) * scale(j, p));
      write(i, j, sum);
    }
}

/// Dot products that are summed at the same time: eight vectors in total.
template <class Set>
inline constexpr int kSums = 8 * Set::bytes / 64;

template <class Set, int few, class T, class S, class Write>
GRADUS_ALWAYS_INLINE void dot_rows(std::int64_t k, const RowsOf<T>& x, const RowsOf<S>& y,
                                   Write write) {
  // Eight vectors of independent sums hide the latency of multiplication.
  constexpr int many = kSums<Set> / few;
  std::int64_t j = 0;
  const auto place = [&](int i, int l, T sum) { write(i, j + l, sum); };
  for (; j + many <= y.rows; j += many) dot_block<Set, few, many>(k, x, y.from(j), place);
  for (; j < y.rows; ++j) dot_block<Set, few, 1>(k, x, y.from(j), place);
}

/// Calls write(i, j, x_i · y_j) for all pairs of rows.
template <class Set, class T, class S, class Write>
GRADUS_ALWAYS_INLINE void dots(std::int64_t k, const RowsOf<T>& x, const RowsOf<S>& y,
                               Write write) {
  std::int64_t i = 0;
  const auto place = [&](int l, std::int64_t j, T sum) { write(i + l, j, sum); };
  if constexpr (kSums<Set> >= 4)
    for (; i + 4 <= x.rows; i += 4) dot_rows<Set, 4>(k, x.from(i), y, place);
  for (; i + 2 <= x.rows; i += 2) dot_rows<Set, 2>(k, x.from(i), y, place);
  if (i < x.rows) dot_rows<Set, 1>(k, x.from(i), y, place);
}

}  // namespace gradus::gemm
