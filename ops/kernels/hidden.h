// Hidden pairs, keys and queries of a mask, used by attention composed of public ops.
#pragma once

#include "gradus/engine/tensor.h"
#include "gradus/ops/mask/mask.h"

namespace gradus::kernel {

/// bool tensors in which true means hidden. Undefined if nothing is hidden.
struct Hidden {
  Tensor pairs;    // [B, H, T, S]
  Tensor keys;     // [B, H, S, 1], keys hidden from all queries
  Tensor queries;  // [B, H, T, 1], queries without visible keys
};
Hidden hidden_by(const Mask& mask, const MaskSizes& sizes);

/// Zeroes the hidden rows of x [B, H, rows, width], even if NaN, and their gradient.
Tensor without_rows(const Tensor& x, const Tensor& hidden);

}  // namespace gradus::kernel
