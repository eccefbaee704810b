// Exercise 10: attention, for each of B examples.
//
//   s = q kᵀ / √D                          q [B 2, T 3, D 4], k [B, S 5, D], s and p [B, T, S]
//   p = softmax(s)                         along S
//   y = p v                                v [B, S, E 2], y and dy [B, T, E]
//
// Nothing here is new: y goes back through a product (3), p through softmax (6), s through a
// product (3) and a factor. Go in that order, and write the shape behind each line.
// Worth knowing: std::sqrt from <cmath>; matmul and transpose leave the leading axis alone.
#include "gradus/examples/exercises/exercises.h"

namespace gradus::exercises {

Tensors attention_backward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dy) {
  return not_done_yet(q, k, v, dy);  // return {dq, dk, dv};
}

}  // namespace gradus::exercises
