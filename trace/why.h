#pragma once

#include <string>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus {

namespace nn {
class Module;
}

/// Lists the leaves that backward() from x reaches. Call it before backward(), which frees the
/// graph; afterwards, leaves with a gradient count as reached.
std::string why(const Tensor& x);
/// Lists the model's parameters that are reached and those that are not. If a trace::Watch was
/// alive, names the op and layer at which a path ends; otherwise lists possible reasons.
std::string why(const Tensor& x, const nn::Module& model);

namespace trace {

/// A parameter that no gradient reaches.
struct Unreached {
  std::string name;  // parameter name
  Shape shape;
  bool frozen;           // set by requires_grad_(false)
  std::string ended_at;  // "multiply in Tiny up ran under NoGrad"; requires a Watch
};
std::vector<Unreached> unreached(const Tensor& x, const nn::Module& model);

}  // namespace trace
}  // namespace gradus
