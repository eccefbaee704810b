// The reference matmul, used by tests and the `step` preset (-DGRADUS_BLAS=plain).
#pragma once

#include "gradus/engine/gemm/multiply.h"

namespace gradus::gemm {

/// c[i,j] = alpha · Σ_p a[i,p] · b[p,j] + beta · c[i,j] + bias[j] + residual[i,j]
template <class T>
void plain_product(const Matrix<T>& c, const Matrix<const T>& a, const Matrix<const T>& b,
                   const Options<T>& options) {
  // Indexes instead of at(), whose calls take a sixth of the time at -O0.
  const std::int64_t a_row = a.transposed ? 1 : a.stride, a_column = a.transposed ? a.stride : 1;
  const std::int64_t b_row = b.transposed ? 1 : b.stride, b_column = b.transposed ? b.stride : 1;
  for (std::int64_t i = 0; i < c.rows; ++i) {
    for (std::int64_t j = 0; j < c.columns; ++j) {
      T sum = 0;
      for (std::int64_t p = 0; p < a.columns; ++p)
        sum += a.data[i * a_row + p * a_column] * b.data[p * b_row + j * b_column];
      T out = options.alpha * sum;
      if (options.beta != 0) out += options.beta * *c.at(i, j);
      if (options.bias != nullptr) out += options.bias[j];
      if (options.residual.data != nullptr) out += *options.residual.at(i, j);
      *c.at(i, j) = out;
    }
  }
}

}  // namespace gradus::gemm
