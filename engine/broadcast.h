// Broadcasting and its reverse: repeating a tensor along axes, and summing it over them again.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

/// x seen as `shape`, aligned at the right: axes of size 1 are repeated; −1 keeps a size. A view.
/// ShapeError names the axis that does not fit.
Tensor expand(const Tensor& x, const Shape& shape);

/// x summed down to `shape`, from which x's shape was broadcast. f32, f64, i64; ShapeError.
Tensor sum_to(const Tensor& x, const Shape& shape);

/// Can a tensor of `shape` be broadcast to `target`?
bool broadcasts_to(const Shape& shape, const Shape& target);

}  // namespace gradus
