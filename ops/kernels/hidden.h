// The pairs, keys and queries that a mask hides, as tensors: for attention composed of public ops.
#pragma once

#include "gradus/engine/tensor.h"
#include "gradus/ops/mask/mask.h"

namespace gradus::kernel {

/// bool, true = hidden. Undefined where nothing is.
struct Hidden {
  Tensor pairs;    // [B, H, T, S]
  Tensor keys;     // [B, H, S, 1], those that no query may see: padding
  Tensor queries;  // [B, H, T, 1], those that may see no key
};
Hidden hidden_by(const Mask& mask, const MaskSizes& sizes);

/// x [B, H, rows, width] with 0 in the hidden rows, whatever they hold; no gradient passes there.
Tensor without_rows(const Tensor& x, const Tensor& hidden);

}  // namespace gradus::kernel
