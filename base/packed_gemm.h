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
  // The rows left over are a tile of 8, of 4, of 2 and of 1, as needed.
  static constexpr std::int64_t fewer(std::int64_t rows) { return rows == 14 ? 8 : rows / 2; }
  // How much belongs together: while what a tile needs of A stays in the first-level cache (15 KiB
  // of floats), the panels of B come from the second (1 MiB).
  static constexpr std::int64_t depth = 256, all_columns = 32 * columns;
  // How far apart rows of A are copied: a power of two apart they would share a few cache sets.
  static constexpr std::int64_t apart = depth + lanes;
  // Each so many steps of a sum, one line of what comes after it is fetched. (At each step it would
  // cost 6 % of the arithmetic's speed.)
  static constexpr std::int64_t often = 8;
};

/// What a product adds itself to: beta · `old` (rows `ldo` apart; not read where beta is 0), and
/// `bias`, one row for all, unless null.
template <class T>
struct Addend {
  T beta;
  const T* old;
  std::int64_t ldo;
  const T* bias;

  Addend at(std::int64_t row, std::int64_t column) const {
    return {beta, old + row * ldo + column, ldo, bias != nullptr ? bias + column : nullptr};
  }
};

/// What will be needed soon, and is too far from here for the processor to guess: lines of memory
/// that begin `step` apart.
template <class T>
struct Ahead {
  const T* line;
  std::int64_t step;
};

/// `rows` rows of a tile of C = alpha · a b + addend, where b is a panel of B, and a holds copies
/// of rows of A, or of its columns if A is to be transposed.
template <bool transpose_a, std::int64_t rows, class T>
GRADUS_INLINE void multiply_panel(std::int64_t depth, T alpha, const T* a, const T* b,
                                  const Addend<T>& to, T* c, std::int64_t ldc, Ahead<T> next) {
  using P = Packing<T>;
  typename P::Vector sums[rows][2] = {}, left, right;
  for (std::int64_t i = 0; i < rows; ++i)  // C is needed at the end, and comes meanwhile
    for (std::int64_t lane = 0; lane < P::columns; lane += P::lanes) {
      __builtin_prefetch(c + i * ldc + lane, 1);
      if (to.old != c) __builtin_prefetch(to.old + i * to.ldo + lane);
    }
  for (std::int64_t begin = 0; begin < depth; begin += P::often, next.line += next.step) {
    __builtin_prefetch(next.line, 0, 2);  // into the second level
    for (std::int64_t p = begin; p < std::min(begin + P::often, depth); ++p) {
      std::memcpy(&left, b + p * P::columns, sizeof left);
      std::memcpy(&right, b + p * P::columns + P::lanes, sizeof right);
#pragma GCC unroll 14
      for (std::int64_t i = 0; i < rows; ++i) {
        const T factor = transpose_a ? a[p * P::rows + i] : a[i * P::apart + p];
        sums[i][0] += factor * left, sums[i][1] += factor * right;
      }
    }
  }
  typename P::Vector bias[2] = {};
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h)
    if (to.bias != nullptr) std::memcpy(&bias[h], to.bias + h * P::lanes, sizeof bias[h]);
#pragma GCC unroll 14
  for (std::int64_t i = 0; i < rows; ++i)
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      typename P::Vector x{};
      if (to.beta != 0) std::memcpy(&x, to.old + i * to.ldo + h * P::lanes, sizeof x);
      x = alpha * sums[i][h] + to.beta * x + bias[h];
      std::memcpy(c + i * ldc + h * P::lanes, &x, sizeof x);
    }
}

/// The same, where `rows` is known at run time, and at most `most`.
template <bool transpose_a, std::int64_t most, class T>
GRADUS_INLINE void multiply_rows(std::int64_t rows, std::int64_t depth, T alpha, const T* a,
                                 const T* b, const Addend<T>& to, T* c, std::int64_t ldc,
                                 Ahead<T> next) {
  if (rows == most) return multiply_panel<transpose_a, most>(depth, alpha, a, b, to, c, ldc, next);
  if constexpr (most > 1)
    multiply_rows<transpose_a, Packing<T>::fewer(most)>(rows, depth, alpha, a, b, to, c, ldc, next);
}

/// The same, where only `columns` of the tile belong to C.
template <bool transpose_a, class T>
GRADUS_WIDE_KERNEL void multiply_tile(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                                      T alpha, const T* a, const T* b, const Addend<T>& to, T* c,
                                      std::int64_t ldc, Ahead<T> next) {
  using P = Packing<T>;
  if (columns == P::columns)
    return multiply_rows<transpose_a, P::rows>(rows, depth, alpha, a, b, to, c, ldc, next);
  alignas(64) T tile[P::rows * P::columns] = {}, bias[P::columns] = {};
  if (to.beta != 0) kernel::copy_rows(to.old, to.ldo, rows, columns, tile, P::columns);
  if (to.bias != nullptr) std::copy_n(to.bias, columns, bias);
  const Addend<T> inside{to.beta, tile, P::columns, bias};
  multiply_rows<transpose_a, P::rows>(rows, depth, alpha, a, b, inside, tile, P::columns, next);
  kernel::copy_rows(tile, P::columns, rows, columns, c, ldc);
}

/// The columns of A that are rows of a tile, `depth` of them, side by side.
template <class T>
GRADUS_WIDE_KERNEL void copy_columns(const T* a, std::int64_t lda, std::int64_t rows,
                                     std::int64_t depth, T* to) {
  constexpr std::int64_t all = Packing<T>::rows;
  for (std::int64_t p = 0; rows == all && p < depth; ++p)
    std::memcpy(to + p * all, a + p * lda, all * sizeof(T));
  if (rows < all) kernel::copy_rows(a, lda, depth, rows, to, all);
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

/// C [m, columns] = alpha · A · B + addend, where A is [m, depth], to be transposed or not, B is in
/// panels, and `strip` has room for copies of a tile's rows of A.
template <bool transpose_a, class T>
void multiply_block(std::int64_t m, std::int64_t columns, std::int64_t depth, T alpha, const T* a,
                    std::int64_t lda, const T* panels, const Addend<T>& to, T* c, std::int64_t ldc,
                    T* strip) {
  using P = Packing<T>;
  std::int64_t rows = P::rows;
  for (std::int64_t i = 0; i < m; i += rows) {
    while (rows > m - i) rows = P::fewer(rows);
    if (transpose_a)
      copy_columns(a + i, lda, rows, depth, strip);
    else
      kernel::copy_rows(a + i * lda, lda, rows, depth, strip, P::apart);
    // In the course of a strip most of the next one is fetched: a row of it a tile, or the line
    // where its columns end in the next 32 rows.
    Ahead<T> next{a + (i + rows) * lda, P::often};
    if (transpose_a) next = {a + i + 2 * rows - 1, lda};
    for (std::int64_t j = 0; j < columns; j += P::columns) {
      multiply_tile<transpose_a>(rows, std::min(P::columns, columns - j), depth, alpha, strip,
                                 panels + j * depth, to.at(i, j), c + i * ldc + j, ldc, next);
      next.line += transpose_a ? P::depth / P::often * lda : lda;
    }
  }
}

/// Like gemm of base/blas.h, on this thread.
template <bool transpose_a, class T>
void packed_gemm(bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha,
                 const T* a, std::int64_t lda, const T* b, std::int64_t ldb, const Addend<T>& to,
                 T* c, std::int64_t ldc) {
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
      const Addend<T> sums_so_far{T{1}, c + j, ldc, nullptr};
      multiply_block<transpose_a>(m, columns, depth, alpha, a + p * (transpose_a ? lda : 1), lda,
                                  packed.data, p == 0 ? to.at(0, j) : sums_so_far, c + j, ldc,
                                  strip.data);
    }
}

}  // namespace gradus::blas
