// Matrix multiplication. Transposed and head-split views are not copied.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

/// [..., m, k] · [..., k, n] → [..., m, n]; leading axes broadcast. A vector [k] counts as [1, k]
/// on the left and [k, 1] on the right, without the added axis in the result. Throws ShapeError if
/// the values of k differ.
Tensor matmul(const Tensor& a, const Tensor& b);

}  // namespace gradus
