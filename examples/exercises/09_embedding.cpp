// Exercise 9: embedding, a table looked up by row.
//
//   y[i, c] = weight[ids[i], c]            weight [V 5, C 3], ids [N 6], y and dy [N, C]
//
// An id that occurs three times has three gradients, which add up; one that does not occur has 0.
// Worth knowing: one_hot(ids, classes, dy.dtype()) is [N, V], and y = one_hot(ids) weight, a
// product of matrices (exercise 3). The ids get no gradient.
#include "gradus/examples/exercises/exercises.h"

namespace gradus::exercises {

Tensors embedding_backward(const Tensor& weight, const Tensor& ids, const Tensor& dy) {
  return not_done_yet(weight, ids, dy);  // return {dweight, Tensor{}};
}

}  // namespace gradus::exercises
