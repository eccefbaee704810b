// Broadcasting, and the summation that reverses it.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

/// Returns a view of x broadcast to `shape`, where −1 keeps x's size. Throws ShapeError.
Tensor expand(const Tensor& x, const Shape& shape);

/// Sums x down to `shape`, which must broadcast to x's shape. Supports f32, f64 and i64. Throws
/// ShapeError.
Tensor sum_to(const Tensor& x, const Shape& shape);

/// True if `shape` broadcasts to `target`.
bool broadcasts_to(const Shape& shape, const Shape& target);

}  // namespace gradus
