#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

/// Returns y = x Wᵀ + b:  x [..., in], weight [out, in], bias [out] or undefined → [..., out].
/// Throws ShapeError, DtypeError for different dtypes, and ValueError if x or weight is undefined.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace gradus
