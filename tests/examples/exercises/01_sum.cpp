// dx_i = dy.
#include "gradus/examples/exercises/exercises.h"

namespace gradus::exercises {

Tensors sum_backward(const Tensor& x, const Tensor& dy) { return {expand(dy, x.shape())}; }

}  // namespace gradus::exercises
