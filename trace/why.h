// why: which leaves a gradient reaches, and where other paths end.
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
/// Lists the parameters of a model that are reached or not. The graph does not record ops under
/// NoGrad or detach(): a trace::Watch that was alive names the op and layer; otherwise possible
/// reasons are listed.
std::string why(const Tensor& x, const nn::Module& model);

namespace trace {

/// A parameter that is not reached.
struct Unreached {
  std::string name;  // of the parameter
  Shape shape;
  bool frozen;           // by requires_grad_(false)
  std::string ended_at;  // "multiply in Tiny up ran under NoGrad"; needs a Watch
};
std::vector<Unreached> unreached(const Tensor& x, const nn::Module& model);

}  // namespace trace
}  // namespace gradus
