// Sorting, and positions of extremes. Indices are i64 without a gradient; sorted values are
// differentiable. Throw ValueError for an undefined tensor, IndexError for an invalid axis.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

/// Returns the i64 position of the first largest (smallest) element along `axis`, which is removed,
/// or kept with size 1 if keepdim. NaN counts as the extreme. Throws ShapeError if the axis is
/// empty.
Tensor argmax(const Tensor& x, int axis, bool keepdim = false);
Tensor argmin(const Tensor& x, int axis, bool keepdim = false);

/// Elements selected by sort() or topk(), with their positions in the input.
struct SortResult {
  Tensor values;   // differentiable
  Tensor indices;  // i64 positions along the axis
};
/// Sorts x along `axis`. Equal elements keep their order; NaN is last in both directions.
SortResult sort(const Tensor& x, int axis = -1, bool descending = false);
/// Returns only the indices of sort(): i64, of x's shape.
Tensor argsort(const Tensor& x, int axis = -1, bool descending = false);
/// Returns the k largest elements along `axis`, largest first; NaN counts as the largest. Throws
/// ValueError unless 0 ≤ k ≤ n.
SortResult topk(const Tensor& x, std::int64_t k, int axis = -1);

/// Draws `count` positions from each row of weights [..., n] ≥ 0, with or without replacement: i64
/// [..., count]. Throws ValueError for negative or non-finite weights, or too few nonzero ones.
Tensor multinomial(const Tensor& weights, std::int64_t count, bool replacement = true);

}  // namespace gradus
