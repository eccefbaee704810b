// Going backward: from outputs to the gradients of what they were made from.
#pragma once

#include <vector>

#include "gradus/engine/node.h"
#include "gradus/engine/tensor.h"

namespace gradus {

struct GradOptions {
  bool create_graph = false;  // the gradients can be differentiated again (implies keep_graph)
  bool keep_graph = false;
  bool allow_unused = false;  // an input that no output depends on gives an undefined gradient
};

/// Σ_k ∂outputs[k]/∂inputs[i] · grad_outputs[k], one tensor for each input; `.grad` is not touched.
/// An empty or undefined grad_outputs[k] stands for 1 and wants outputs[k] to have one element.
/// inputs may be leaves or intermediate tensors. GraphError if an input is not reached.
std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs = {}, GradOptions options = {});

/// The same with lists: grad({y}, {x})[0].
std::vector<Tensor> grad(std::initializer_list<Tensor> outputs,
                         std::initializer_list<Tensor> inputs, GradOptions options = {});

/// The same for one output and one input.
Tensor grad(const Tensor& output, const Tensor& input, GradOptions options = {});

/// The sum of gradients into the leaves' grad(): Tensor::backward for several outputs at once.
void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grad_outputs = {},
              BackwardOptions options = {});

}  // namespace gradus
