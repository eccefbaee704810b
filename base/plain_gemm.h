// The matrix product as it is defined: what a BLAS is compared with, and what runs in its place
// where there is none (GRADUS_BLAS=plain).
#pragma once

#include <cstdint>

namespace gradus::blas {

/// c[i,j] = alpha · Σ_p a[i,p] · b[p,j] + beta · c[i,j], where a is op(A) and b is op(B),
/// transposed where ta and tb say so.
template <class T>
void plain_gemm(bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k, T alpha,
                const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c,
                std::int64_t ldc) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (std::int64_t p = 0; p < k; ++p)
        sum += a[ta ? p * lda + i : i * lda + p] * b[tb ? j * ldb + p : p * ldb + j];
      T& out = c[i * ldc + j];
      out = beta == 0 ? alpha * sum : alpha * sum + beta * out;  // beta = 0 clears NaN too
    }
  }
}

}  // namespace gradus::blas
