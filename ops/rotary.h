// Rotary positions: queries and keys turned by an angle that grows with their position.
#pragma once

#include <span>

#include "gradus/engine/tensor.h"

namespace gradus {

struct RotaryOptions {
  double base = 10000;       // pair i of D / 2 turns by position · base^(−2i / D)
  bool interleaved = false;  // pairs are (2i, 2i + 1), as in the paper, not (i, i + D / 2)
};

/// Su et al. 2021: each pair of x's columns turned as a plane, so that a query's product with a key
/// depends on their distance alone. x [B, H, T, D] (D even) → the same; `positions` has T of them,
/// or B · T where each example has its own. Pairs lie half a width apart, as in LLaMA's weights,
/// unless `interleaved`. ShapeError for an odd D and for another number of positions.
Tensor apply_rotary(const Tensor& x, std::span<const std::int64_t> positions,
                    const RotaryOptions& options = {});

}  // namespace gradus
