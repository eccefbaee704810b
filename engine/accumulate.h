// accumulate: adds gradients. The engine adds them nowhere else.
#pragma once

#include "gradus/engine/op.h"
#include "gradus/engine/tensor.h"

namespace gradus {

/// Adds `gradient` to `sum`, the gradient of a tensor of `shape` and `dtype`. An undefined sum is
/// zero. Works in place if one of the two buffers is unshared. Sums a broadcast gradient down to
/// `shape`. If `differentiable`, records the addition. Throws ShapeError or DtypeError if the
/// gradient does not match.
void accumulate(Tensor& sum, const Shape& shape, Dtype dtype, Gradient gradient,
                bool differentiable);

/// True if x may be overwritten in place: unshared and contiguous.
bool is_own(const Tensor& x);

/// Adds source to target element-wise, in target's storage. Shape and dtype must match.
void add_(Tensor& target, const Tensor& source);

}  // namespace gradus
