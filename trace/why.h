// why: shows which leaves a tensor's gradient reaches, and where the other paths ended.
#pragma once

#include <string>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus {

namespace nn {
class Module;
}

/// Lists the leaves that backward() from x reaches. Call it before backward(), which frees the
/// graph. Afterwards, leaves with a gradient count as reached, and the output says so.
std::string why(const Tensor& x);
/// Lists the parameters of a model that are reached or not, by name. The graph does not record ops
/// under NoGrad or detach(), so the text lists possible reasons. If a trace::Watch was alive during
/// the forward, it names the op and layer.
std::string why(const Tensor& x, const nn::Module& model);

namespace trace {

/// A parameter that backward() from a tensor does not reach.
struct Unreached {
  std::string name;
  Shape shape;
  bool frozen;           // by requires_grad_(false)
  std::string ended_at;  // "multiply in Tiny up ran under NoGrad"; "" without a Watch
};
std::vector<Unreached> unreached(const Tensor& x, const nn::Module& model);

}  // namespace trace
}  // namespace gradus
