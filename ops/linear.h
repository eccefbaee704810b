// The affine map of a layer, in one product.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

/// y = x Wᵀ + b:  x [..., in], weight [out, in], bias [out] or undefined → [..., out].
/// ShapeError where sizes do not fit; DtypeError for two dtypes; ValueError for no x or weight.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace gradus
