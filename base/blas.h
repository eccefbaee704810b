// Matrix products: the few BLAS functions that Gradus calls, split over its own threads.
#pragma once

#include <cstdint>
#include <string>

namespace gradus::blas {

/// C[m,n] = alpha · op(A)[m,k] · op(B)[k,n] + beta · C, row-major; op transposes as its flag says.
/// lda, ldb, ldc are the distances between rows as stored (A is [m,k], or [k,m] when transposed).
/// beta = 0 overwrites C, NaN included. Sizes may be 0 (k = 0 scales C by beta). A dimension above
/// 2³¹−1 is a ValueError. T is float or double. A large product runs as one slab per thread along
/// its longer side, our own kernel where that pays: same bits for the same number of threads.
template <class T>
void gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
          T alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c,
          std::int64_t ldc);

/// C = op(A) · op(B) + bias + residual, in one pass over C: bias [n] is added to every row, the
/// rows of residual [m,n] are ldc apart; either may be null. C is not read. Else like gemm.
template <class T>
void gemm_plus(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
               const T* a, std::int64_t lda, const T* b, std::int64_t ldb, const T* bias,
               const T* residual, T* c, std::int64_t ldc);

/// gemm on the calling thread alone: for use inside parallel_for.
template <class T>
void gemm_serial(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
                 T alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c,
                 std::int64_t ldc);

/// The same as one call of the library, however large, on as many threads as it is set to: what the
/// others are measured against. Sizes of at least 1, and unchecked.
template <class T>
void library_gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n,
                  std::int64_t k, T alpha, const T* a, std::int64_t lda, const T* b,
                  std::int64_t ldb, T beta, T* c, std::int64_t ldc);

/// For config(): "OpenBLAS 0.3.21 … Zen, pthread pool set to one thread", "BLIS …", "plain".
std::string describe();

/// The pthread build of OpenBLAS keeps a spinning pool, which Gradus sets to one thread at the
/// first product (1.8× otherwise). false forbids that; must be called before the first product.
void allow_pool_setting(bool allowed);

}  // namespace gradus::blas
