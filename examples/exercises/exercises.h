// The ten backward passes to write; see README.md.
#pragma once

#include <vector>

#include "gradus/engine/tensor.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"

namespace gradus::exercises {

using Tensors = std::vector<Tensor>;

/// Marks an exercise as not done.
template <class... Given>
Tensors not_done_yet(const Given&...) {
  return {};
}

// Each function takes the inputs of forward, and the upstream gradient dy, with the shape of y. It
// returns the gradient of each input in order, or Tensor{} for integer ids and targets.
Tensors sum_backward(const Tensor& x, const Tensor& dy);
Tensors multiply_backward(const Tensor& a, const Tensor& b, const Tensor& dy);
Tensors matmul_backward(const Tensor& a, const Tensor& b, const Tensor& dy);
Tensors relu_backward(const Tensor& x, const Tensor& dy);
Tensors mean_backward(const Tensor& x, const Tensor& dy);
Tensors softmax_backward(const Tensor& x, const Tensor& dy);
Tensors cross_entropy_backward(const Tensor& x, const Tensor& target, const Tensor& dy);
Tensors layer_norm_backward(const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& dy);
Tensors embedding_backward(const Tensor& weight, const Tensor& ids, const Tensor& dy);
Tensors attention_backward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dy);

}  // namespace gradus::exercises
