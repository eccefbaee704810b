// dx = y (dy − Σ dy y).
#include "gradus/examples/exercises/exercises.h"

namespace gradus::exercises {

Tensors softmax_backward(const Tensor& x, const Tensor& dy) {
  const Tensor y = softmax(x);
  return {y * (dy - sum(dy * y, {-1}, true))};
}

}  // namespace gradus::exercises
