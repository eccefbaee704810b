#pragma once

#include "gradus/engine/op.h"
#include "gradus/engine/tensor.h"

namespace gradus {

/// Adds `gradient` to `sum`, the gradient of a tensor of `shape` and `dtype`, in place if a buffer
/// is unshared. An undefined `sum` counts as zero. Sums a broadcast gradient down to `shape`.
/// Records the addition if `differentiable`. Throws ShapeError or DtypeError.
void accumulate(Tensor& sum, const Shape& shape, Dtype dtype, Gradient gradient,
                bool differentiable);

/// True if x is contiguous and no other tensor shares its buffer, so x may be overwritten.
bool is_own(const Tensor& x);

/// Adds source to target in place. Shape and dtype must match.
void add_(Tensor& target, const Tensor& source);

}  // namespace gradus
