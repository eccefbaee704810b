#pragma once

#include "gradus/ops/position_bias.h"

namespace gradus {

/// Returns the entropy of each row in nats, −Σ_s p_s log p_s: weights [..., S] → [...], from 0 (one
/// key) to log S (uniform). Differentiable; the derivative at p = 0 is set to 0.
Tensor attention_entropy(const Tensor& weights);

/// Returns the mean distance to the attended keys, Σ_s p_s |query − key_s|: weights [B, H, T, S] →
/// [B, H, T]. Positions are as in position_bias.h.
Tensor mean_attention_distance(const Tensor& weights, PositionList queries, PositionList keys,
                               std::int64_t examples = 0);

}  // namespace gradus
