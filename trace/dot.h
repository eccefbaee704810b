// Graphs as pictures, for Graphviz.
#pragma once

#include <string>

#include "gradus/engine/tensor.h"

namespace gradus {

namespace nn {
class Module;
}

/// The recorded graph behind x in the DOT language: `dot -Tsvg graph.dot -o graph.svg` draws it.
/// Edges go with the forward and carry shapes; leaves are boxes, frozen ones dashed. Layers are
/// clusters where a trace::Watch was there in the forward. Of a larger graph the `most` newest
/// nodes are drawn, and a note says how many are not.
std::string to_dot(const Tensor& x, std::size_t most = 500);
/// The same with the names of the model's parameters.
std::string to_dot(const Tensor& x, const nn::Module& model, std::size_t most = 500);

}  // namespace gradus
