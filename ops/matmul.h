// Matrix multiplication. Transposed and head-split views are not copied.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

/// [..., m, k] · [..., k, n] → [..., m, n]; leading axes broadcast. A vector [k] is treated as
/// [1, k] on the left and [k, 1] on the right, and the added axis is removed. Throws ShapeError if
/// the values of k differ.
Tensor matmul(const Tensor& a, const Tensor& b);

}  // namespace gradus
