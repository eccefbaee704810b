// Matrix products, through BLAS. Transposed and head-split views are handed to it as they are.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

/// [..., m, k] · [..., k, n] → [..., m, n]; leading axes broadcast. A vector [k] on the left counts
/// as [1, k], on the right as [k, 1], and the added axis goes again. ShapeError when the k differ.
Tensor matmul(const Tensor& a, const Tensor& b);

}  // namespace gradus
