// The inner loop of the built-in matmul: one tile of C, summed in registers.
//
// A Set is an instruction set (instruction_set.h). A tile needs two vector registers for each of
// its `rows` rows of C, two for B, and one for a value of A. That is 14 · 2 + 3 of 32 registers
// with AVX-512, and 6 · 2 + 3 of 16 with AVX2. Without fused multiply-add, a product needs one
// more.
//
// After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "gradus/engine/base/transpose.h"
#include "gradus/engine/gemm/instruction_set.h"
#include "gradus/engine/gemm/multiply.h"

namespace gradus::gemm {

template <class Set, class T>
struct Tile {
  using Vector = typename VectorOf<T, Set::bytes>::Type;
  static constexpr std::int64_t lanes = Set::bytes / sizeof(T);
  static constexpr std::int64_t rows = Set::rows, columns = 2 * lanes;
  // Returns the rows of the next smaller tile: half as many, except 8 after 14.
  static constexpr std::int64_t fewer(std::int64_t left) { return left == 14 ? 8 : left / 2; }
  static constexpr std::int64_t whole_rows = (rows + lanes - 1) / lanes * lanes;  // in full vectors
  // Terms per pass: a tile's part of A fits into the L1 cache.
  static constexpr std::int64_t depth = 256;
  // Columns of B packed together: half an L2 cache of 1 MiB with AVX-512, or of 512 KiB otherwise.
  static constexpr std::int64_t panel_columns = (Set::bytes == 64 ? 512 : 256) * 4 / sizeof(T);
  // Row stride of the copy of A, not a power of two because of cache-set conflicts.
  static constexpr std::int64_t strip_stride = depth + 64 / sizeof(T);
  // Terms per prefetch. Prefetching for each term would be slower.
  static constexpr std::int64_t fetch_interval = 8;
};

/// Addresses of cache lines that the hardware cannot predict. The lines for one tile are `step`
/// elements apart, and those for the next tile begin `tile` elements later.
template <class T>
struct Prefetch {
  const T* line;
  std::int64_t step, tile;
};

/// Input of a tile: `depth` terms of a strip of A and of B (rows, b_stride apart). The strip of A
/// consists of rows that are strip_stride apart or, if `transposed_a`, of columns that are
/// whole_rows apart.
template <class T>
struct TileInput {
  const T *a, *b;
  std::int64_t b_stride, depth;
};

/// Prefetches a tile of C and of the residual.
template <int rows, class T>
GRADUS_ALWAYS_INLINE void fetch_tile(const T* c, std::int64_t stride, const Options<T>& options,
                                     std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; j += 64 / static_cast<std::int64_t>(sizeof(T))) {
      __builtin_prefetch(c + i * stride + j, 1);
      if (options.residual.data != nullptr)
        __builtin_prefetch(options.residual.data + i * options.residual.stride + j);
    }
}

template <class Set, int rows, int vectors, class T>
GRADUS_ALWAYS_INLINE void write_tile(const typename Tile<Set, T>::Vector (&sums)[rows][vectors],
                                     T* c, std::int64_t stride, const Options<T>& options) {
  using V = typename Tile<Set, T>::Vector;
  constexpr std::int64_t lanes = Tile<Set, T>::lanes;
#pragma GCC unroll 2
  for (int v = 0; v < vectors; ++v) {
    V bias{};
    if (options.bias != nullptr) std::memcpy(&bias, options.bias + v * lanes, sizeof bias);
#pragma GCC unroll 14
    for (int i = 0; i < rows; ++i) {
      T* to = c + i * stride + v * lanes;
      V x, y = options.alpha * sums[i][v] + bias;
      if (options.beta != 0) {
        std::memcpy(&x, to, sizeof x);
        y += options.beta * x;
      }
      if (options.residual.data != nullptr) {
        std::memcpy(&x, options.residual.data + i * options.residual.stride + v * lanes, sizeof x);
        y += x;
      }
      std::memcpy(to, &y, sizeof y);
    }
  }
}

/// Computes one tile of C: Σ_p a[i, p] · b[p, j].
template <class Set, bool transposed_a, int rows, int vectors, class T>
GRADUS_ALWAYS_INLINE void multiply_tile(const TileInput<T>& in, T* c, std::int64_t stride,
                                        const Options<T>& options, Prefetch<T> next) {
  using P = Tile<Set, T>;
  typename P::Vector sums[rows][vectors] = {}, b[vectors];
  fetch_tile<rows>(c, stride, options, vectors * P::lanes);
  const T *pa = in.a, *pb = in.b;
  for (std::int64_t begin = 0; begin < in.depth; begin += P::fetch_interval) {
    __builtin_prefetch(next.line, 0, 2);  // into the L2 cache
    next.line += next.step;
    const std::int64_t end = std::min(begin + P::fetch_interval, in.depth);
    for (std::int64_t p = begin; p < end; ++p, pb += in.b_stride) {
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) std::memcpy(&b[v], pb + v * P::lanes, sizeof b[v]);
#pragma GCC unroll 14
      for (int i = 0; i < rows; ++i) {
        const T factor = transposed_a ? pa[i] : pa[i * P::strip_stride];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) Set::multiply_add(sums[i][v], factor, b[v]);
      }
      pa += transposed_a ? P::whole_rows : 1;
    }
  }
  write_tile<Set, rows, vectors>(sums, c, stride, options);
}

/// Calls multiply_tile for up to `most` rows and one or two vectors of columns.
template <class Set, bool transposed_a, int most, class T>
GRADUS_ALWAYS_INLINE void multiply_rows(std::int64_t rows, std::int64_t columns,
                                        const TileInput<T>& in, T* c, std::int64_t stride,
                                        const Options<T>& options, Prefetch<T> next) {
  using P = Tile<Set, T>;
  if (rows == most) {
    if (columns <= P::lanes)
      multiply_tile<Set, transposed_a, most, 1>(in, c, stride, options, next);
    else
      multiply_tile<Set, transposed_a, most, 2>(in, c, stride, options, next);
    return;
  }
  if constexpr (most > 1)
    multiply_rows<Set, transposed_a, static_cast<int>(P::fewer(most))>(rows, columns, in, c, stride,
                                                                       options, next);
}

}  // namespace gradus::gemm
