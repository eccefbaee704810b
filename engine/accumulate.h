// accumulate: where gradients meet. The only place in which they are added.
#pragma once

#include "gradus/engine/op.h"
#include "gradus/engine/tensor.h"

namespace gradus {

/// sum += gradient, for a tensor of `shape` and `dtype`; an undefined sum counts as zero. In place
/// where nobody else can see one of the two buffers. With `differentiable` the addition is
/// recorded. ShapeError or DtypeError when the gradient does not fit.
void accumulate(Tensor& sum, const Shape& shape, Dtype dtype, Gradient gradient,
                bool differentiable);

/// target += source, element by element, writing into target's storage; same shape and dtype.
void add_(Tensor& target, const Tensor& source);

}  // namespace gradus
