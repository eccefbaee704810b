// Sums the gradients over broadcast axes.
#include "gradus/examples/exercises/exercises.h"

namespace gradus::exercises {

Tensors multiply_backward(const Tensor& a, const Tensor& b, const Tensor& dy) {
  return {sum_to(dy * b, a.shape()), sum_to(dy * a, b.shape())};
}

}  // namespace gradus::exercises
