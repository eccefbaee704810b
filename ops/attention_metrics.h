// What attention's weights look like: how spread out, and how far away.
#pragma once

#include "gradus/ops/position_bias.h"

namespace gradus {

/// −Σ_s p_s log p_s of each row, in nats: weights [..., S] → [...]. From 0 (one key has all) to
/// log S (all alike). 0 log 0 is 0; there the derivative, else −log p − 1, is taken as 0: softmax
/// multiplies it by p. Differentiable, so that a loss may ask for more or less of it.
Tensor attention_entropy(const Tensor& weights);

/// Σ_s p_s |query − key_s|: the mean distance that a query looks, weights [B, H, T, S] → [B, H, T].
/// Positions as in position_bias.h.
Tensor mean_attention_distance(const Tensor& weights, PositionList queries, PositionList keys,
                               std::int64_t examples = 0);

}  // namespace gradus
