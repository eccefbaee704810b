// Backward of y = p v, p = softmax(s), s = q kᵀ / √D.
#include <cmath>

#include "gradus/examples/exercises/exercises.h"

namespace gradus::exercises {

Tensors attention_backward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dy) {
  const double factor = 1 / std::sqrt(static_cast<double>(q.size(-1)));
  const Tensor p = softmax(factor * matmul(q, transpose(k)));     // [B, T, S]
  const Tensor dv = matmul(transpose(p), dy);                     // [B, S, E]
  const Tensor dp = matmul(dy, transpose(v));                     // [B, T, S]
  const Tensor ds = factor * p * (dp - sum(dp * p, {-1}, true));  // [B, T, S]
  return {matmul(ds, k), matmul(transpose(ds), q), dv};           // [B, T, D], [B, S, D]
}

}  // namespace gradus::exercises
