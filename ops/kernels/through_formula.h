#pragma once

#include <vector>

#include "gradus/engine/base/function_ref.h"
#include "gradus/engine/op.h"

namespace gradus::op {

/// Returns the required gradients of formula(inputs) for dy, for fused ops whose backward must be
/// differentiable. Treats the inputs as independent, even if one was computed from another.
Gradients through_formula(const Tensor& dy, const NeedsGrad& needs_grad, std::vector<Tensor> inputs,
                          FunctionRef<Tensor(const std::vector<Tensor>&)> formula);

}  // namespace gradus::op
