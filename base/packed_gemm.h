// Matrix products of our own, where the processor has AVX-512: B is copied into panels as wide as
// two vectors, and a tile of C stays in registers while it is added up.
//
// After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "gradus/base/kernel.h"
#include "gradus/base/memory.h"
#include "gradus/base/transpose.h"

namespace gradus::blas {

template <class T>
struct Packing {
  using Vector __attribute__((vector_size(64))) = T;
  static constexpr std::int64_t lanes = 64 / sizeof(T);

  // A tile of C: 14 rows of two vectors. With two of B and a number of A that is all but one of the
  // processor's 32 registers.
  static constexpr std::int64_t rows = 14, columns = 2 * lanes;
  // How much belongs together: while what a tile needs of A stays in the first-level cache (15 KiB
  // of floats), the panels of B come from the second (1 MiB).
  static constexpr std::int64_t depth = 256, all_columns = 32 * columns;
  // How far apart rows of A are copied: a power of two apart they would share a few cache sets.
  static constexpr std::int64_t apart = depth + lanes;
  // So many rows of A that are to be columns are fetched ahead.
  static constexpr std::int64_t ahead = 16;
};

/// c = alpha · sum + beta · c, where beta = 0 does not read c.
template <class Vector, class T>
GRADUS_INLINE void store(T alpha, const Vector& sum, T beta, T* c) {
  Vector old{};
  if (beta != 0) std::memcpy(&old, c, sizeof old);
  const Vector x = alpha * sum + beta * old;
  std::memcpy(c, &x, sizeof x);
}

/// A tile of C = alpha · a b + beta · C, where b is a panel of B, and a holds the tile's rows of A,
/// copied, or its columns where they lie in the matrix to be transposed. What lies at `next` will
/// be needed soon, and is too far from here for the processor to guess.
template <bool transpose_a, class T>
GRADUS_INLINE void multiply_panel(std::int64_t depth, T alpha, const T* a, std::int64_t lda,
                                  const T* b, T beta, T* c, std::int64_t ldc, const T* next) {
  using P = Packing<T>;
  constexpr int cache = transpose_a ? 3 : 2;  // 3: the first level
  typename P::Vector sums[P::rows][2] = {}, left, right;
  for (std::int64_t i = 0; i < P::rows; ++i)  // C is needed at the end, and comes meanwhile
    __builtin_prefetch(c + i * ldc, 1), __builtin_prefetch(c + i * ldc + P::lanes, 1);
  for (std::int64_t p = 0; p < depth; ++p) {
    std::memcpy(&left, b + p * P::columns, sizeof left);
    std::memcpy(&right, b + p * P::columns + P::lanes, sizeof right);
    __builtin_prefetch(next + p * (transpose_a ? lda : 1), 0, cache);
    if (transpose_a) __builtin_prefetch(next + p * lda + P::rows - 1);  // may be another line
#pragma GCC unroll 14
    for (std::int64_t i = 0; i < P::rows; ++i) {
      const T factor = transpose_a ? a[p * lda + i] : a[i * P::apart + p];
      sums[i][0] += factor * left, sums[i][1] += factor * right;
    }
  }
#pragma GCC unroll 14
  for (std::int64_t i = 0; i < P::rows; ++i) {
    store(alpha, sums[i][0], beta, c + i * ldc);
    store(alpha, sums[i][1], beta, c + i * ldc + P::lanes);
  }
}

/// The same, where only `rows` and `columns` of the tile belong to C.
template <bool transpose_a, class T>
GRADUS_WIDE_KERNEL void multiply_tile(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                                      T alpha, const T* a, std::int64_t lda, const T* b, T beta,
                                      T* c, std::int64_t ldc, const T* next) {
  using P = Packing<T>;
  if (rows == P::rows && columns == P::columns)
    return multiply_panel<transpose_a>(depth, alpha, a, lda, b, beta, c, ldc, next);
  alignas(64) T tile[P::rows * P::columns] = {};
  kernel::copy_rows(c, ldc, rows, columns, tile, P::columns);
  multiply_panel<transpose_a>(depth, alpha, a, lda, b, beta, tile, P::columns, next);
  kernel::copy_rows(tile, P::columns, rows, columns, c, ldc);
}

/// Panels of B [depth, columns], one after the other.
template <class T>
GRADUS_WIDE_KERNEL void pack(bool transpose, const T* b, std::int64_t ldb, std::int64_t depth,
                             std::int64_t columns, T* to) {
  using P = Packing<T>;
  for (std::int64_t j = 0; transpose && j < columns; j += P::columns)
    kernel::transpose(b + j * ldb, ldb, std::min(P::columns, columns - j), depth, to + j * depth,
                      P::columns);
  for (std::int64_t p = 0; !transpose && p < depth; ++p)
    for (std::int64_t j = 0; j < columns; j += P::columns) {
      T* row = to + j * depth + p * P::columns;
      if (columns - j >= P::columns)
        std::memcpy(row, b + p * ldb + j, P::columns * sizeof(T));
      else
        std::copy_n(b + p * ldb + j, columns - j, row);
    }
}

/// Like gemm of base/blas.h, on this thread.
template <bool transpose_a, class T>
void packed_gemm(bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha,
                 const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c,
                 std::int64_t ldc) {
  using P = Packing<T>;
  const std::int64_t panels = (std::min(n, P::all_columns) + P::columns - 1) / P::columns;
  const memory::Scratch<T> strip(P::rows * P::apart),
      packed(panels * P::columns * std::min(k, P::depth));
  for (std::int64_t j = 0; j < n; j += P::all_columns)
    for (std::int64_t p = 0; p < k; p += P::depth) {
      const std::int64_t columns = std::min(P::all_columns, n - j),
                         depth = std::min(P::depth, k - p);
      pack(transpose_b, b + (transpose_b ? j * ldb + p : p * ldb + j), ldb, depth, columns,
           packed.data);
      for (std::int64_t i = 0; i < m; i += P::rows) {
        const std::int64_t rows = std::min(P::rows, m - i);
        const T* left = a + (transpose_a ? p * lda + i : i * lda + p);
        std::int64_t apart = lda;
        if (!transpose_a) {
          kernel::copy_rows(left, lda, rows, depth, strip.data, P::apart);
          left = strip.data;
        } else if (rows < P::rows) {  // nothing behind the matrix is read
          kernel::copy_rows(left, lda, depth, rows, strip.data, P::rows);
          left = strip.data, apart = P::rows;
        }
        for (std::int64_t s = 0; s < columns; s += P::columns) {
          // A row that will be copied: in the course of a strip, most of the next one.
          const T* soon = a + (i + P::rows + s / P::columns) * lda + p;
          multiply_tile<transpose_a>(rows, std::min(P::columns, columns - s), depth, alpha, left,
                                     apart, packed.data + s * depth, p == 0 ? beta : T{1},
                                     c + i * ldc + j + s, ldc,
                                     transpose_a ? left + P::ahead * apart : soon);
        }
      }
    }
}

}  // namespace gradus::blas
