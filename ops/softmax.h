#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

/// y_i = exp(x_i) / Σ_j exp(x_j). A row that is entirely −∞ (all masked) yields 0 with gradient 0.
Tensor softmax(const Tensor& x, int axis = -1);

/// log softmax(x), accurate even where softmax rounds to 0. A row that is entirely −∞ yields −∞
/// with gradient 0.
Tensor log_softmax(const Tensor& x, int axis = -1);

}  // namespace gradus
