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

/// What a product adds itself to: beta · `old` (rows `ldo` apart), and `bias`, one row for all, if
/// there is one.
template <class T>
struct Addend {
  T beta;
  const T* old;
  std::int64_t ldo;
  const T* bias;
};

/// What will be needed soon, and is too far from here for the processor to guess: lines of memory
/// that begin `step` apart.
template <class T>
struct Ahead {
  const T* line;
  std::int64_t step;
};

/// `rows` rows of a tile of C = alpha · a b + addend, where b is a panel of B, and a holds copies of
/// the tile's rows of A, or of its columns if A is to be transposed.
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
  typename P::Vector bias_left{}, bias_right{};
  if (to.bias != nullptr) {
    std::memcpy(&bias_left, to.bias, sizeof left);
    std::memcpy(&bias_right, to.bias + P::lanes, sizeof right);
  }
#pragma GCC unroll 14
  for (std::int64_t i = 0; i < rows; ++i) {
    typename P::Vector x{}, y{};
    if (to.beta != 0) {
      std::memcpy(&x, to.old + i * to.ldo, sizeof x);
      std::memcpy(&y, to.old + i * to.ldo + P::lanes, sizeof y);
    }
    x = alpha * sums[i][0] + to.beta * x + bias_left;
    y = alpha * sums[i][1] + to.beta * y + bias_right;
    std::memcpy(c + i * ldc, &x, sizeof x);
    std::memcpy(c + i * ldc + P::lanes, &y, sizeof y);
  }
}

/// The same, where `rows` is known at run time, and at most `most`.
template <bool transpose_a, std::int64_t most, class T>
GRADUS_INLINE void multiply_rows(std::int64_t rows, std::int64_t depth, T alpha, const T* a,
                                 const T* b, const Addend<T>& to, T* c, std::int64_t ldc,
                                 Ahead<T> next) {
  if (rows == most)
    return multiply_panel<transpose_a, most>(depth, alpha, a, b, to, c, ldc, next);
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

/// Like gemm of base/blas.h, on this thread.
template <bool transpose_a, class T>
void packed_gemm(bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha,
                 const T* a, std::int64_t lda, const T* b, std::int64_t ldb,
                 const Addend<T>& to, T* c, std::int64_t ldc) {
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
      std::int64_t rows = P::rows;
      for (std::int64_t i = 0; i < m; i += rows) {
        while (rows > m - i) rows = P::fewer(rows);
        if (transpose_a)
          copy_columns(a + p * lda + i, lda, rows, depth, strip.data);
        else
          kernel::copy_rows(a + i * lda + p, lda, rows, depth, strip.data, P::apart);
        for (std::int64_t s = 0; s < columns; s += P::columns) {
          // In the course of a strip, most of the next one: of its columns the last.
          const std::int64_t tile = s / P::columns;
          const Ahead<T> next =
              transpose_a
                  ? Ahead<T>{a + (p + tile * P::depth / P::often) * lda + i + 2 * rows - 1, lda}
                  : Ahead<T>{a + (i + rows + tile) * lda + p, P::often};
          T* to_c = c + i * ldc + j + s;
          Addend<T> onto{T{1}, to_c, ldc, nullptr};
          if (p == 0)
            onto = {to.beta, to.old + i * to.ldo + j + s, to.ldo,
                    to.bias != nullptr ? to.bias + j + s : nullptr};
          multiply_tile<transpose_a>(rows, std::min(P::columns, columns - s), depth, alpha,
                                     strip.data, packed.data + s * depth, onto, to_c, ldc, next);
        }
      }
    }
}

}  // namespace gradus::blas
