// Differentiates a fused op's backward through its formula.
#pragma once

#include <vector>

#include "gradus/engine/base/function_ref.h"
#include "gradus/engine/op.h"

namespace gradus {

/// Returns the gradients of formula(inputs) for dy, where needed. The backward of a fused op
/// returns them if it must be differentiable itself. Each input counts as an independent variable,
/// even if one was computed from another.
Gradients through_formula(const Tensor& dy, const NeedsGrad& needs_grad, std::vector<Tensor> inputs,
                          FunctionRef<Tensor(const std::vector<Tensor>&)> formula);

}  // namespace gradus
