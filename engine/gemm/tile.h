// A tile of C, in registers while it is summed: the inner loop of our own products, written once.
//
// A Set says what one instruction set has. `rows` rows of two vectors of C, two vectors of B and a
// number of A fill its registers: 14 · 2 + 3 of 32 with AVX-512, 6 · 2 + 3 of 16 with AVX2; without
// fused multiply-add a product needs one more.
//
// After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "gradus/engine/base/simd.h"
#include "gradus/engine/base/transpose.h"
#include "gradus/engine/gemm/multiply.h"

namespace gradus::gemm {

struct Avx512 {
  static constexpr int bytes = 64, rows = 14;
};
struct Avx2 {
  static constexpr int bytes = 32, rows = 6;
};
struct Baseline {
#ifdef __aarch64__
  static constexpr int bytes = 16, rows = 12;
#else
  static constexpr int bytes = 16, rows = 4;
#endif
};

template <class Set, class T>
struct Tile {
  using Vector __attribute__((vector_size(Set::bytes))) = T;
  static constexpr std::int64_t lanes = Set::bytes / sizeof(T);
  static constexpr std::int64_t rows = Set::rows, columns = 2 * lanes;
  // Fewer rows are left at the end: half as many, again and again, and 8 of 14.
  static constexpr std::int64_t fewer(std::int64_t left) { return left == 14 ? 8 : left / 2; }
  static constexpr std::int64_t whole_rows = (rows + lanes - 1) / lanes * lanes;  // in vectors
  // The most of a sum that is taken at once: what a tile needs of A fits the first-level cache.
  static constexpr std::int64_t depth = 256;
  // The most columns of B that are packed at once: half a second-level cache, which has 1 MiB or
  // more where there is AVX-512, and else often half of that.
  static constexpr std::int64_t panel_columns = (Set::bytes == 64 ? 512 : 256) * 4 / sizeof(T);
  // Between copied rows of A: a power of two apart, they would share a few sets of the cache.
  static constexpr std::int64_t strip_stride = depth + 64 / sizeof(T);
  // Every so many terms of a sum one line of what comes next is fetched: at each term it would cost
  // 6 % of the arithmetic's speed.
  static constexpr std::int64_t fetch_interval = 8;
};

/// Lines of memory that will be needed soon, and that the processor cannot guess: `step` numbers
/// apart, and those that the next tile fetches `tile` numbers on.
template <class T>
struct Prefetch {
  const T* line;
  std::int64_t step, tile;
};

/// What one tile reads: `depth` terms of a strip of A (rows, strip_stride apart, or where
/// `transposed_a` columns, whole_rows apart) and of B (rows, b_stride apart).
template <class T>
struct TileInput {
  const T *a, *b;
  std::int64_t b_stride, depth;
};

/// Asks for the lines of C and of the residual that a tile ends in: they come while it is summed.
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

/// C [rows, vectors · lanes] of `sums`.
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

/// One tile of C: Σ_p a[i, p] · b[p, j], finished and written.
template <class Set, bool transposed_a, int rows, int vectors, class T>
GRADUS_ALWAYS_INLINE void multiply_tile(const TileInput<T>& in, T* c, std::int64_t stride,
                                        const Options<T>& options, Prefetch<T> next) {
  using P = Tile<Set, T>;
  typename P::Vector sums[rows][vectors] = {}, b[vectors];
  fetch_tile<rows>(c, stride, options, vectors * P::lanes);
  const T *pa = in.a, *pb = in.b;
  for (std::int64_t begin = 0; begin < in.depth; begin += P::fetch_interval) {
    __builtin_prefetch(next.line, 0, 2);  // into the second level
    next.line += next.step;
    const std::int64_t end = std::min(begin + P::fetch_interval, in.depth);
    for (std::int64_t p = begin; p < end; ++p, pb += in.b_stride) {
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) std::memcpy(&b[v], pb + v * P::lanes, sizeof b[v]);
#pragma GCC unroll 14
      for (int i = 0; i < rows; ++i) {
        const T factor = transposed_a ? pa[i] : pa[i * P::strip_stride];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) sums[i][v] += factor * b[v];
      }
      pa += transposed_a ? P::whole_rows : 1;
    }
  }
  write_tile<Set, rows, vectors>(sums, c, stride, options);
}

/// The same for a number of rows that is known at run time, at most `most`, and for one vector of
/// columns or two.
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
