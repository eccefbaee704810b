// What is added to attention's scores for the distance of a query and a key: ALiBi, T5's buckets.
// Positions are absolute, as masks and caches count them. `examples` > 0 says that each example has
// positions of its own, one example's after the other's; 0 that all share them.
#pragma once

#include <span>

#include "gradus/engine/tensor.h"

namespace gradus {

using PositionList = std::span<const std::int64_t>;

/// |query − key| for each pair: [T, S], or [B, 1, T, S] for B examples.
Tensor position_distances(PositionList queries, PositionList keys, std::int64_t examples = 0,
                          Dtype dtype = default_dtype());

/// Press et al. 2022: [heads]. Of 2ⁿ heads the geometric series from 2^(−8/heads) with that ratio;
/// else that of the next smaller power of two, and then every other one of the next larger's.
Tensor alibi_slopes(std::int64_t heads, Dtype dtype = default_dtype());

/// −slope · |query − key|: [heads, T, S] or [B, heads, T, S], for AttentionOptions::bias.
Tensor alibi_bias(std::int64_t heads, PositionList queries, PositionList keys,
                  std::int64_t examples = 0, Dtype dtype = default_dtype());

struct RelativeBuckets {
  std::int64_t count = 32;          // in all; even if bidirectional
  std::int64_t max_distance = 128;  // this far and farther is one bucket
  bool bidirectional = true;  // keys after the query have the upper half; else they count as 0
};

/// Raffel et al. 2020: of the n buckets of a direction the first n / 2 are one distance each, the
/// others grow in width geometrically up to max_distance.
std::int64_t relative_bucket(std::int64_t key_minus_query, const RelativeBuckets& options = {});
/// The same for each pair: i64 [T, S] or [B, T, S].
Tensor relative_buckets(PositionList queries, PositionList keys,
                        const RelativeBuckets& options = {}, std::int64_t examples = 0);

}  // namespace gradus
