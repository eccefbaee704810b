// Sorting, and where the largest are. Indices are i64 and have no gradient; sorted values do.
// ValueError for an undefined tensor, IndexError for an axis that x does not have.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

/// Where the largest (smallest) along `axis` is, the first of several: i64, without the axis or
/// with size 1. NaN counts as the largest, and as the smallest. ShapeError for an axis of size 0.
Tensor argmax(const Tensor& x, int axis, bool keepdim = false);
Tensor argmin(const Tensor& x, int axis, bool keepdim = false);

struct SortResult {
  Tensor values;   // recorded: the gradient goes back to where each value came from
  Tensor indices;  // i64, along the axis
};
/// x sorted along `axis`; equal elements keep their order, and NaN comes last in both directions.
SortResult sort(const Tensor& x, int axis = -1, bool descending = false);
/// The indices of sort: i64, of x's shape.
Tensor argsort(const Tensor& x, int axis = -1, bool descending = false);
/// The k largest along `axis`, largest first; NaN counts as the largest. ValueError unless
/// 0 ≤ k ≤ n.
SortResult topk(const Tensor& x, std::int64_t k, int axis = -1);

/// `count` positions drawn from each row of weights [..., n] ≥ 0, with replacement or without: i64
/// [..., count]. ValueError for a row with negative, not finite, or too few non-zero weights.
Tensor multinomial(const Tensor& weights, std::int64_t count, bool replacement = true);

}  // namespace gradus
