// why: which leaves a tensor's gradient reaches, which it does not, and where the paths ended.
#pragma once

#include <string>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus {

namespace nn {
class Module;
}

/// Which leaves backward() from x reaches, as text. Ask before backward, which uses the graph up:
/// afterwards what has a gradient counts as reached, and the text says so.
std::string why(const Tensor& x);
/// The same for the parameters of a model, by name, with those that are not reached. What ran under
/// NoGrad or was detached leaves no trace in the graph: then the text says what the reason may be,
/// and after a forward under a trace::Watch it names the operation and layer.
std::string why(const Tensor& x, const nn::Module& model);

namespace trace {

/// A parameter that backward() from a tensor does not reach.
struct Unreached {
  std::string name;
  Shape shape;
  bool frozen;           // on purpose: requires_grad_(false)
  std::string ended_at;  // "multiply in Tiny up ran under NoGrad"; "" without a Watch
};
std::vector<Unreached> unreached(const Tensor& x, const nn::Module& model);

}  // namespace trace
}  // namespace gradus
