// Graphs for Graphviz.
#pragma once

#include <string>

#include "gradus/engine/tensor.h"

namespace gradus {

namespace nn {
class Module;
}

/// The recorded graph behind x in the DOT language: `dot -Tsvg graph.dot -o graph.svg` draws it.
/// Edges point forward and are labeled with shapes. Leaves are boxes, dashed if frozen. Layers are
/// clusters if a trace::Watch was alive during the forward. Draws at most the `most` newest nodes,
/// with a note on the rest.
std::string to_dot(const Tensor& x, std::size_t most = 500);
/// The same with the model's parameter names.
std::string to_dot(const Tensor& x, const nn::Module& model, std::size_t most = 500);

}  // namespace gradus
