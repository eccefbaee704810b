// Exercise 5: the mean over axis 1.
//
//   y_ik = 1/n Σ_j x_ijk                   x [2, n 3, 5], y and dy [2, 5]
//
// A sum along one axis, and a factor. The axis that is gone from dy has to come back, in its old
// place.
// Worth knowing: unsqueeze(t, axis) puts in an axis of size 1; x.size(1) is n, an integer:
// static_cast<double>(n).
#include "gradus/examples/exercises/exercises.h"

namespace gradus::exercises {

Tensors mean_backward(const Tensor& x, const Tensor& dy) {
  return not_done_yet(x, dy);  // return {dx};
}

}  // namespace gradus::exercises
