// dy passes where x is positive.
#include "gradus/examples/exercises/exercises.h"

namespace gradus::exercises {

Tensors relu_backward(const Tensor& x, const Tensor& dy) {
  return {dy * (x > 0.0).astype(x.dtype())};
}

}  // namespace gradus::exercises
