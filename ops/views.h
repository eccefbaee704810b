// Views: other shapes, strides and offsets over the same numbers. None copies, but reshape where no
// strides will do. ValueError for an undefined tensor, IndexError for an axis that x does not have.
#pragma once

#include <vector>

#include "gradus/engine/broadcast.h"  // expand
#include "gradus/engine/tensor.h"

namespace gradus {

/// x as `shape`, of as many elements; one size may be −1: it is computed. A view where strides
/// allow, else a copy. ShapeError.
Tensor reshape(const Tensor& x, const Shape& shape);
Tensor view(const Tensor& x, const Shape& shape);  // reshape that never copies, else ShapeError
/// Axes first … last made one. ShapeError where first comes after last.
Tensor flatten(const Tensor& x, int first = 0, int last = -1);

Tensor transpose(const Tensor& x, int a = -2, int b = -1);  // axes a and b exchanged
/// Axis i of the result is axis order[i] of x. ShapeError unless each axis is named; ValueError for
/// one named twice.
Tensor permute(const Tensor& x, const Axes& order);
Axes all_axes(const Tensor& x);               // [0, 1, …, rank − 1]
Axes inverse(const Axes& order);              // permute(permute(x, order), inverse(order)) is x
Tensor squeeze(const Tensor& x, int axis);    // without the axis; ShapeError unless its size is 1
Tensor unsqueeze(const Tensor& x, int axis);  // with a new axis of size 1 at `axis`

/// [start, stop) of `axis`, every step-th; negative ends count from the end, and are cut to size.
/// ValueError unless step ≥ 1.
Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t stop,
             std::int64_t step = 1);
/// One position of `axis`, which goes. IndexError.
Tensor select(const Tensor& x, int axis, std::int64_t position);
/// Slices of `size` along `axis`; the last may be shorter. ValueError unless size ≥ 1.
std::vector<Tensor> split(const Tensor& x, std::int64_t size, int axis = 0);
/// Slices of these sizes. ShapeError unless they add up to the axis.
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis);
/// Slices of n / chunks each, rounded up: the last may be shorter, and there may be fewer.
std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, int axis = 0);

}  // namespace gradus
