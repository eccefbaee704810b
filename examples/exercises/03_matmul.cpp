// Exercise 3: matrix multiplication.
//
//   y_ij = Σ_k a_ik b_kj                   a [3, 4], b [4, 5], y and dy [3, 5]
//
// a_ik is in y_ij for every j, with factor b_kj: da_ik = Σ_j dy_ij b_kj. Which matmul computes
// this sum? Only one fits the shapes. Then do the same for b.
// Useful: matmul, transpose(t).
#include "gradus/examples/exercises/exercises.h"

namespace gradus::exercises {

Tensors matmul_backward(const Tensor& a, const Tensor& b, const Tensor& dy) {
  return not_done_yet(a, b, dy);  // return {da, db};
}

}  // namespace gradus::exercises
