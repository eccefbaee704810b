// dweight[v] is the sum of dy[i] over all i with ids[i] = v.
#include "gradus/examples/exercises/exercises.h"

namespace gradus::exercises {

Tensors embedding_backward(const Tensor& weight, const Tensor& ids, const Tensor& dy) {
  const Tensor which = one_hot(ids, weight.size(0), dy.dtype());  // [N, V]
  return {matmul(transpose(which), dy), Tensor{}};
}

}  // namespace gradus::exercises
