// Softmax and log-softmax.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

/// y_i = exp(x_i) / Σ_j exp(x_j). A row of only −∞ (all masked) gives 0, gradient 0.
Tensor softmax(const Tensor& x, int axis = -1);

/// log softmax(x), accurate where softmax rounds to 0. A row of only −∞ gives −∞, gradient 0.
Tensor log_softmax(const Tensor& x, int axis = -1);

}  // namespace gradus
