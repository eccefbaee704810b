// Views that share x's values. Only reshape may copy, if strides cannot express the result. Throw
// ValueError for an undefined tensor, IndexError for an invalid axis.
#pragma once

#include <vector>

#include "gradus/engine/broadcast.h"  // expand
#include "gradus/engine/tensor.h"

namespace gradus {

/// Returns x with the given shape; one size may be −1 and is then computed. Returns a view if
/// strides allow, otherwise a copy. Throws ShapeError if the element counts differ.
Tensor reshape(const Tensor& x, const Shape& shape);
Tensor view(const Tensor& x, const Shape& shape);  // never copies, but may throw ShapeError
/// Merges axes first … last. Throws ShapeError if first comes after last.
Tensor flatten(const Tensor& x, int first = 0, int last = -1);

Tensor transpose(const Tensor& x, int a = -2, int b = -1);  // exchanges axes a and b
/// Axis i of the result is axis order[i] of x. Throws ShapeError if an axis is missing, ValueError
/// if one is repeated.
Tensor permute(const Tensor& x, const Axes& order);
Axes all_axes(const Tensor& x);               // [0, 1, …, rank − 1]
Axes inverse(const Axes& order);              // permute(permute(x, order), inverse(order)) is x
Tensor squeeze(const Tensor& x, int axis);    // removes an axis, which must have size 1
Tensor unsqueeze(const Tensor& x, int axis);  // inserts an axis of size 1 at `axis`

/// Returns every step-th position of `axis` in [start, stop). Negative ends count from the end;
/// ends are clamped. Throws ValueError unless step ≥ 1.
Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t stop,
             std::int64_t step = 1);
/// Returns one position of `axis`, which is removed. Throws IndexError.
Tensor select(const Tensor& x, int axis, std::int64_t position);
/// Returns slices of `size` along `axis`; the last may be shorter. Throws ValueError if size < 1.
std::vector<Tensor> split(const Tensor& x, std::int64_t size, int axis = 0);
/// Returns slices of the given sizes. Throws ShapeError unless their sum is the axis's size.
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis);
/// Returns slices of n / chunks positions each, rounded up. The last may be shorter, and there may
/// be fewer than `chunks`.
std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, int axis = 0);

}  // namespace gradus
