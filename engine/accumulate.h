// accumulate: where gradients meet. The only place in which they are added.
#pragma once

#include "gradus/engine/op.h"
#include "gradus/engine/tensor.h"

namespace gradus {

/// sum += gradient, for a tensor of `shape` and `dtype`; an undefined sum counts as zero. In place
/// where nothing else can see one of the two buffers. A gradient that is larger by broadcasting is
/// summed down to `shape`, here and nowhere else. With `differentiable` both are recorded.
/// ShapeError or DtypeError when the gradient does not fit.
void accumulate(Tensor& sum, const Shape& shape, Dtype dtype, Gradient gradient,
                bool differentiable);

/// May x be overwritten in place? Nothing else sees its values, and they lie in order.
bool is_own(const Tensor& x);

/// target += source, element by element, writing into target's storage; same shape and dtype.
void add_(Tensor& target, const Tensor& source);

}  // namespace gradus
