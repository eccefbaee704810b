// Differentiates an op's backward through its formula.
#pragma once

#include <vector>

#include "gradus/engine/base/function_ref.h"
#include "gradus/engine/op.h"

namespace gradus {

/// Returns the needed gradients of formula(inputs) for dy, for a fused op's backward that must be
/// differentiable. Each input counts as independent, even if computed from another.
Gradients through_formula(const Tensor& dy, const NeedsGrad& needs_grad, std::vector<Tensor> inputs,
                          FunctionRef<Tensor(const std::vector<Tensor>&)> formula);

}  // namespace gradus
