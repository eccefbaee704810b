// matmul's values; defined in matmul.cpp.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus::kernel {

/// a b over broadcast batches, outside the graph; both of rank ≥ 2.
Tensor batched_product(const Tensor& a, const Tensor& b);

}  // namespace gradus::kernel
