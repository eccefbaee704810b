// da = dy bᵀ, db = aᵀ dy.
#include "gradus/examples/exercises/exercises.h"

namespace gradus::exercises {

Tensors matmul_backward(const Tensor& a, const Tensor& b, const Tensor& dy) {
  return {matmul(dy, transpose(b)), matmul(transpose(a), dy)};
}

}  // namespace gradus::exercises
