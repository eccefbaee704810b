// Backpropagation: grad() and backward().
#pragma once

#include <vector>

#include "gradus/engine/node.h"
#include "gradus/engine/tensor.h"

namespace gradus {

/// Options of grad().
struct GradOptions {
  bool create_graph = false;  // gradients can be differentiated again (implies keep_graph)
  bool keep_graph = false;    // keeps the graph for another backward pass
  bool allow_unused = false;  // unused inputs get undefined gradients, not an error
};

/// Returns Σ_k ∂outputs[k]/∂inputs[i] · grad_outputs[k] for each input, leaf or not, without
/// changing `.grad`. A missing grad_outputs[k] is 1, which requires a one-element output. Throws
/// GraphError if no output depends on an input.
std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs = {}, GradOptions options = {});

/// Overload of grad for braced lists: grad({y}, {x})[0].
std::vector<Tensor> grad(std::initializer_list<Tensor> outputs,
                         std::initializer_list<Tensor> inputs, GradOptions options = {});

/// Overload of grad for one pair.
Tensor grad(const Tensor& output, const Tensor& input, GradOptions options = {});

/// Like Tensor::backward, but for multiple outputs.
void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grad_outputs = {},
              BackwardOptions options = {});

}  // namespace gradus
