// Exercise 2: a product, element by element, with broadcasting.
//
//   y = a b                                a [2, 3, 5], b [3, 1], y and dy [2, 3, 5]
//
// Were the shapes alike it would be da = dy b, db = dy a. But each b is used ten times, and has to
// collect what comes back from all ten.
// Worth knowing: sum_to(t, shape) undoes broadcasting. Use it for both: in another call a
// may be the smaller one.
#include "gradus/examples/exercises/exercises.h"

namespace gradus::exercises {

Tensors multiply_backward(const Tensor& a, const Tensor& b, const Tensor& dy) {
  return not_done_yet(a, b, dy);  // return {da, db};
}

}  // namespace gradus::exercises
