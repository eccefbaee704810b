// Order: where the largest are. Positions are i64 and carry no gradient; sorted values do.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

Tensor argmax(const Tensor& x, int axis,
              bool keepdim = false);  // the first of several; NaN is largest
Tensor argmin(const Tensor& x, int axis, bool keepdim = false);
Tensor argsort(const Tensor& x, int axis = -1, bool descending = false);  // stable

struct Ordered {
  Tensor values;     // recorded: the gradient goes back to where each value came from
  Tensor positions;  // i64, along the axis
};
Ordered sort(const Tensor& x, int axis = -1, bool descending = false);  // stable; NaN last
Ordered topk(const Tensor& x, std::int64_t k, int axis = -1);           // largest first

/// `count` positions drawn from each row of weights [..., n] ≥ 0, with replacement or without: i64
/// [..., count]. ValueError for a row with negative, not finite, or too few non-zero weights.
Tensor multinomial(const Tensor& weights, std::int64_t count, bool replacement = true);

}  // namespace gradus
