// Ops that join, repeat, flip and pad tensors, or take triangles. Throw ValueError for an undefined
// tensor, IndexError for an invalid axis.
#pragma once

#include <span>

#include "gradus/engine/tensor.h"
#include "gradus/ops/views.h"

namespace gradus {

Tensor clone(const Tensor& x);       // a copy; recorded
Tensor contiguous(const Tensor& x);  // copies only if not contiguous; recorded
/// Joins tensors along `axis`. Throws ShapeError if other sizes differ, DtypeError if dtypes
/// differ, and ValueError if the list is empty.
Tensor cat(std::span<const Tensor> x, int axis = 0);
Tensor cat(std::initializer_list<Tensor> x, int axis = 0);
/// Joins tensors along a new axis. Shapes and dtypes must be equal. Throws the same errors as cat.
Tensor stack(std::span<const Tensor> x, int axis = 0);
Tensor stack(std::initializer_list<Tensor> x, int axis = 0);
/// Repeats x times[i] times along axis i. Additional counts add leading axes. Throws ShapeError for
/// too few counts, ValueError for negative counts.
Tensor repeat(const Tensor& x, const Shape& times);
Tensor flip(const Tensor& x, const Axes& axes);  // throws ValueError for repeated axes
/// Zeroes x [..., m, n] above (tril) or below (triu) a diagonal; positive `diagonal` counts to the
/// right.
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);
/// Adds `before` and `after` elements of `value` at the start and end of `axis`. Throws ValueError
/// for negative counts.
Tensor pad(const Tensor& x, int axis, std::int64_t before, std::int64_t after, double value = 0);

}  // namespace gradus
