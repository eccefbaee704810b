#pragma once

#include <span>

#include "gradus/engine/tensor.h"

namespace gradus {

/// Frequencies and pairing of apply_rotary(). Defaults are as in LLaMA.
struct RotaryOptions {
  double base = 10000;       // pair i of D / 2 rotates by position · base^(−2i / D)
  bool interleaved = false;  // true: pairs (2i, 2i + 1), as in the paper; false: (i, i + D / 2)
};

/// Rotates each pair of x's columns by an angle proportional to the position, so that q · k depends
/// only on the distance (Su et al. 2021). x [B, H, T, D] (D even) → the same shape. `positions` has
/// T entries, or B · T if positions differ between examples. Pairs are D / 2 apart, as in LLaMA,
/// unless `interleaved`. Throws ShapeError for odd D or a wrong number of positions.
Tensor apply_rotary(const Tensor& x, std::span<const std::int64_t> positions,
                    const RotaryOptions& options = {});

}  // namespace gradus
