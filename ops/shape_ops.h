// The same numbers in other places, copied: joined, repeated, turned round, cut, padded. ValueError
// for an undefined tensor, IndexError for an axis that x does not have.
#pragma once

#include <span>

#include "gradus/engine/tensor.h"
#include "gradus/ops/views.h"

namespace gradus {

Tensor clone(const Tensor& x);       // the same values in a buffer of its own; recorded
Tensor contiguous(const Tensor& x);  // x itself where it is contiguous already; recorded
/// Joined along `axis`: equal dtypes, and equal sizes of the other axes. DtypeError, ShapeError;
/// ValueError for none.
Tensor cat(std::span<const Tensor> x, int axis = 0);
Tensor cat(std::initializer_list<Tensor> x, int axis = 0);
/// Joined along a new axis: equal shapes and dtypes. Errors as of cat.
Tensor stack(std::span<const Tensor> x, int axis = 0);
Tensor stack(std::initializer_list<Tensor> x, int axis = 0);
/// The whole of x, times[i] times along axis i; more times than axes add axes in front. ShapeError
/// for fewer, ValueError for a negative one.
Tensor repeat(const Tensor& x, const Shape& times);
Tensor flip(const Tensor& x, const Axes& axes);  // ValueError for an axis named twice
/// x [..., m, n] with 0 above (below) the diagonal of the last two axes, or one further right.
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);
/// `before` and `after` elements of `value` at the ends of `axis`. ValueError for negative ones.
Tensor pad(const Tensor& x, int axis, std::int64_t before, std::int64_t after, double value = 0);

}  // namespace gradus
