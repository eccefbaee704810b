// Statistics of attention weights: entropy and distance.
#pragma once

#include "gradus/ops/position_bias.h"

namespace gradus {

/// Entropy of each row, −Σ_s p_s log p_s in nats: weights [..., S] → [...], from 0 (one key) to log
/// S (uniform). Differentiable; at p = 0 the derivative is taken as 0, since softmax multiplies it
/// by p.
Tensor attention_entropy(const Tensor& weights);

/// Mean distance to the attended keys, Σ_s p_s |query − key_s|: weights [B, H, T, S] → [B, H, T].
/// Positions as in position_bias.h.
Tensor mean_attention_distance(const Tensor& weights, PositionList queries, PositionList keys,
                               std::int64_t examples = 0);

}  // namespace gradus
