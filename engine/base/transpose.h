// Transposes matrices in registers, and copies and prefetches rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "gradus/engine/base/simd.h"

namespace gradus::kernel {

inline constexpr std::int64_t kBlock = 8;

template <class T>
struct Lanes {
  using Vector __attribute__((vector_size(kBlock * sizeof(T)))) = T;
};

/// In each group of 2·size rows, exchanges the off-diagonal blocks of `size` columns between rows
/// `size` apart: (a b; c d) becomes (a c; b d).
template <int size, class V, std::size_t... lane>
GRADUS_INLINE void exchange_blocks(V* rows, std::index_sequence<lane...>) {
  constexpr auto left = [](std::size_t l) { return l / size % 2 == 0; };
  for (int i = 0; i < kBlock; ++i) {
    if (i / size % 2 != 0) continue;
    const V ab = rows[i], cd = rows[i + size];
    rows[i] = __builtin_shufflevector(ab, cd, int(left(lane) ? lane : lane + kBlock - size)...);
    rows[i + size] =
        __builtin_shufflevector(ab, cd, int(left(lane) ? lane + size : lane + kBlock)...);
  }
}

/// Transposes an 8×8 matrix by exchanging blocks of size 1, then 2, then 4.
template <class T>
GRADUS_INLINE void transpose_block(const T* x, std::int64_t row, T* to, std::int64_t apart) {
  typename Lanes<T>::Vector rows[kBlock];
  for (int r = 0; r < kBlock; ++r) std::memcpy(&rows[r], x + r * row, sizeof rows[r]);
  constexpr std::make_index_sequence<kBlock> lanes;
  exchange_blocks<1>(rows, lanes);
  exchange_blocks<2>(rows, lanes);
  exchange_blocks<4>(rows, lanes);
  for (int c = 0; c < kBlock; ++c) std::memcpy(to + c * apart, &rows[c], sizeof rows[c]);
}

/// Writes xᵀ [width, rows] with row stride `apart`; x [rows, width] has row stride `row`. Sixteen
/// rows together fill one cache line of the result.
template <class T>
GRADUS_INLINE void transpose(const T* x, std::int64_t row, std::int64_t rows, std::int64_t width,
                             T* to, std::int64_t apart) {
  const std::int64_t whole = width - width % kBlock;
  for (std::int64_t first = 0; first < rows; first += 2 * kBlock) {
    const std::int64_t last = std::min(first + 2 * kBlock, rows), blocks = (last - first) / kBlock;
    for (std::int64_t c = 0; c < whole; c += kBlock)
      for (std::int64_t r = first; r < first + blocks * kBlock; r += kBlock)
        transpose_block(x + r * row + c, row, to + c * apart + r, apart);
    for (std::int64_t r = first; r < last; ++r)
      for (std::int64_t c = r < first + blocks * kBlock ? whole : 0; c < width; ++c)
        to[c * apart + r] = x[r * row + c];
  }
}

/// Copies x [rows, width] from row stride `row` to row stride `apart`. Choose a stride that is not
/// a power of two to avoid cache-set conflicts.
template <class T>
void copy_rows(const T* x, std::int64_t row, std::int64_t rows, std::int64_t width, T* to,
               std::int64_t apart) {
  for (std::int64_t r = 0; r < rows; ++r) std::copy_n(x + r * row, width, to + r * apart);
}

/// Prefetches a matrix [rows, width] with row stride `row` for writing.
template <class T>
void fetch_rows(const T* x, std::int64_t row, std::int64_t rows, std::int64_t width) {
  constexpr auto line = static_cast<std::int64_t>(64 / sizeof(T));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < width; c += line) __builtin_prefetch(x + r * row + c, 1);
}

}  // namespace gradus::kernel
