#pragma once

#include <string>

#include "gradus/engine/tensor.h"

namespace gradus {

namespace nn {
class Module;
}

/// Draws the recorded graph that produced x, for `dot -Tsvg graph.dot -o graph.svg`. Edges point
/// forward and show shapes. Leaves are boxes, dashed if frozen. Layers are clusters if a
/// trace::Watch was alive. Draws only the `most` newest nodes.
std::string to_dot(const Tensor& x, std::size_t most = 500);
/// Overload that adds the model's parameter names.
std::string to_dot(const Tensor& x, const nn::Module& model, std::size_t most = 500);

}  // namespace gradus
