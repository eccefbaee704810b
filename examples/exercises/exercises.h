// The ten backward passes that are yours to write. README.md says how they are built and graded.
#pragma once

#include <vector>

#include "gradus/engine/tensor.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"

namespace gradus::exercises {

using Tensors = std::vector<Tensor>;

/// No gradients: what an exercise returns until it is done.
template <class... Given>
Tensors not_done_yet(const Given&...) {
  return {};
}

// Each gets what forward got, and dy = dL/dy of y's shape. It returns dL/d of each input, in their
// order and of their shapes; for ids and targets, which are no numbers, Tensor{}.
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
