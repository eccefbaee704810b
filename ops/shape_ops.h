// Join, repeat, flip, triangles, pad. Throw ValueError for an undefined tensor, IndexError for an
// invalid axis.
#pragma once

#include <span>

#include "gradus/engine/tensor.h"
#include "gradus/ops/views.h"

namespace gradus {

Tensor clone(const Tensor& x);       // a copy; recorded
Tensor contiguous(const Tensor& x);  // copies only if not contiguous; recorded
/// Joins along `axis`. Other sizes and dtypes must be equal: DtypeError, ShapeError. Throws
/// ValueError if empty.
Tensor cat(std::span<const Tensor> x, int axis = 0);
Tensor cat(std::initializer_list<Tensor> x, int axis = 0);
/// Joins along a new axis. Shapes and dtypes must be equal. Errors as for cat.
Tensor stack(std::span<const Tensor> x, int axis = 0);
Tensor stack(std::initializer_list<Tensor> x, int axis = 0);
/// Repeats x times[i] times along axis i; additional times add axes in front. Throws ShapeError for
/// too few times, ValueError for negative ones.
Tensor repeat(const Tensor& x, const Shape& times);
Tensor flip(const Tensor& x, const Axes& axes);  // throws ValueError for repeated axes
/// Zeroes x [..., m, n] above (below) the diagonal, or one further right.
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);
/// Adds `before` and `after` elements of `value` at the ends of `axis`. Throws ValueError for
/// negative counts.
Tensor pad(const Tensor& x, int axis, std::int64_t before, std::int64_t after, double value = 0);

}  // namespace gradus
