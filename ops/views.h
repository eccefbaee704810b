// Views of the same values. Only reshape copies, if no strides fit. Throw ValueError for an
// undefined tensor, IndexError for an invalid axis.
#pragma once

#include <vector>

#include "gradus/engine/broadcast.h"  // expand
#include "gradus/engine/tensor.h"

namespace gradus {

/// Returns x as `shape`; one size may be −1 (computed). A view if strides allow, else a copy.
/// Throws ShapeError if the element counts differ.
Tensor reshape(const Tensor& x, const Shape& shape);
Tensor view(const Tensor& x, const Shape& shape);  // reshape that never copies, or ShapeError
/// Merges axes first … last. Throws ShapeError if first comes after last.
Tensor flatten(const Tensor& x, int first = 0, int last = -1);

Tensor transpose(const Tensor& x, int a = -2, int b = -1);  // exchanges axes a and b
/// Axis i of the result is axis order[i] of x. Throws ShapeError if an axis is missing, ValueError
/// if repeated.
Tensor permute(const Tensor& x, const Axes& order);
Axes all_axes(const Tensor& x);               // [0, 1, …, rank − 1]
Axes inverse(const Axes& order);              // permute(permute(x, order), inverse(order)) is x
Tensor squeeze(const Tensor& x, int axis);    // removes an axis of size 1, or ShapeError
Tensor unsqueeze(const Tensor& x, int axis);  // inserts an axis of size 1 at `axis`

/// [start, stop) of `axis`, every step-th. Negative ends count from the end; ends are clamped.
/// Throws ValueError unless step ≥ 1.
Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t stop,
             std::int64_t step = 1);
/// One position of `axis`, which is removed. Throws IndexError.
Tensor select(const Tensor& x, int axis, std::int64_t position);
/// Slices of `size` along `axis`; the last may be shorter. Throws ValueError unless size ≥ 1.
std::vector<Tensor> split(const Tensor& x, std::int64_t size, int axis = 0);
/// Slices of these sizes. Throws ShapeError unless they add up to the axis.
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis);
/// Slices of n / chunks each, rounded up. The last may be shorter, and there may be fewer.
std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, int axis = 0);

}  // namespace gradus
