// Exercise 2: an elementwise product with broadcasting.
//
//   y = a b                                a [2, 3, 5], b [3, 1], y and dy [2, 3, 5]
//
// With equal shapes, da = dy b and db = dy a. But each b is used ten times, so its gradient is a
// sum of ten terms.
// Useful: sum_to(t, shape) undoes broadcasting. Use it for da too, as a may also be broadcast.
#include "gradus/examples/exercises/exercises.h"

namespace gradus::exercises {

Tensors multiply_backward(const Tensor& a, const Tensor& b, const Tensor& dy) {
  return not_done_yet(a, b, dy);  // return {da, db};
}

}  // namespace gradus::exercises
