// Exercise 9: embedding, a table lookup by row.
//
//   y[i, c] = weight[ids[i], c]            weight [V 5, C 3], ids [N 6], y and dy [N, C]
//
// An id that occurs three times gets the sum of three gradients; one that does not occur gets 0.
// Useful: one_hot(ids, classes, dy.dtype()) is [N, V], and y = one_hot(ids) weight, a matmul
// (exercise 3). The ids get no gradient.
#include "gradus/examples/exercises/exercises.h"

namespace gradus::exercises {

Tensors embedding_backward(const Tensor& weight, const Tensor& ids, const Tensor& dy) {
  return not_done_yet(weight, ids, dy);  // return {dweight, Tensor{}};
}

}  // namespace gradus::exercises
