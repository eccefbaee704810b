// A large product as many small ones, for a library that multiplies small matrices where they lie.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gradus/base/transpose.h"

namespace gradus::blas {

/// rows × columns of C, and how many of the k products are added to it at a time.
struct Tile {
  std::int64_t rows, columns, depth;
  constexpr std::int64_t multiplications() const { return rows * columns * depth; }
};

// Below the 100³ multiplications up to which OpenBLAS (0.3.20 and later) copies nothing on cores
// with AVX-512; whole vectors and cache lines.
inline constexpr Tile kTile{96, 64, 128}, kTileOfTransposed{96, 128, 64};

/// Like gemm of base/blas.h, on this thread; multiply is called as library_gemm is, with the sizes
/// of a tile. Tiles of B are copied, and transposed where they have to be: the library is slow at a
/// bᵀ, and of rows that lie a power of two apart few fit into the first cache together. Only aᵀ b
/// reads b where it lies: the rows of a that a tile of b meets are too few to pay for a copy.
template <class T, class Multiply>
void tiled_gemm(bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k, T alpha,
                const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c,
                std::int64_t ldc, Multiply&& multiply) {
  const bool copies = tb || !ta;
  const Tile tile = copies ? kTile : kTileOfTransposed;
  alignas(64) T packed[kTile.depth * kTile.columns];
  for (std::int64_t j = 0; j < n; j += tile.columns)
    for (std::int64_t p = 0; p < k; p += tile.depth) {
      const std::int64_t columns = std::min(tile.columns, n - j),
                         depth = std::min(tile.depth, k - p);
      const T* right = b + (tb ? j * ldb + p : p * ldb + j);
      if (tb)
        kernel::transpose(right, ldb, columns, depth, packed, tile.columns);
      else if (copies)
        kernel::copy_rows(right, ldb, depth, columns, packed, tile.columns);
      for (std::int64_t i = 0; i < m; i += tile.rows)
        multiply(ta, false, std::min(tile.rows, m - i), columns, depth, alpha,
                 a + (ta ? p * lda + i : i * lda + p), lda, copies ? packed : right,
                 copies ? tile.columns : ldb, p == 0 ? beta : T{1}, c + i * ldc + j, ldc);
    }
}

}  // namespace gradus::blas
