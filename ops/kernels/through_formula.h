// The second derivative of a fused operation is that of its formula.
#pragma once

#include <vector>

#include "gradus/engine/base/function_ref.h"
#include "gradus/engine/op.h"

namespace gradus {

/// The gradients of formula(inputs) by the inputs that are wanted, for the upstream gradient dy:
/// what the backward of an operation with this formula returns where it must be differentiable
/// again. Each input counts as a variable of its own, also where one was computed from another.
Gradients through_formula(const Tensor& dy, const NeedsGrad& needs_grad, std::vector<Tensor> inputs,
                          FunctionRef<Tensor(const std::vector<Tensor>&)> formula);

}  // namespace gradus
