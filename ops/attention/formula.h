// Attention's formula, composed of public operations: what the fused kernel must equal.
#pragma once

#include "gradus/ops/attention/attention.h"
#include "gradus/ops/attention/kernel.h"

namespace gradus::formula {

/// Forward, for FormulaScope and for whoever asks for the weights. `bias` is the tensor as it was
/// given, which may learn.
Attended composed(const kernel::AttentionPlan& plan, const Tensor& q, const Tensor& k,
                  const Tensor& v, const Tensor& bias);

struct Derivatives {
  Tensor dq, dk, dv;
};

/// Backward, recorded itself, for second derivatives. `dout` is the gradient of the output.
Derivatives formula_backward(const kernel::AttentionPlan& plan, const Tensor& q, const Tensor& k,
                             const Tensor& v, const Tensor& dout);

}  // namespace gradus::formula
