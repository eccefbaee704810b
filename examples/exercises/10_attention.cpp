// Exercise 10: attention, for each of B examples.
//
//   s = q kᵀ / √D                          q [B 2, T 3, D 4], k [B, S 5, D], s and p [B, T, S]
//   p = softmax(s)                         along S
//   y = p v                                v [B, S, E 2], y and dy [B, T, E]
//
// Go back in this order: y through a matmul (3), p through softmax (6), s through a factor and a
// matmul (3). Write the shape after each line.
// Useful: std::sqrt from <cmath>; matmul and transpose keep the leading axis.
#include "gradus/examples/exercises/exercises.h"

namespace gradus::exercises {

Tensors attention_backward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dy) {
  return not_done_yet(q, k, v, dy);  // return {dq, dk, dv};
}

}  // namespace gradus::exercises
