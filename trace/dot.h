// Graphs for Graphviz.
#pragma once

#include <string>

#include "gradus/engine/tensor.h"

namespace gradus {

namespace nn {
class Module;
}

/// The recorded graph behind x, for `dot -Tsvg graph.dot -o graph.svg`. Edges point forward, with
/// shapes. Leaves are boxes, dashed if frozen. Layers are clusters if a trace::Watch was alive.
/// Draws the `most` newest nodes.
std::string to_dot(const Tensor& x, std::size_t most = 500);
/// The same with the model's parameter names.
std::string to_dot(const Tensor& x, const nn::Module& model, std::size_t most = 500);

}  // namespace gradus
