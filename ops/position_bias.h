// Attention biases that depend on distance: ALiBi and T5's buckets. Positions are absolute, as in
// masks and caches. If `examples` > 0, each example has its own positions, concatenated.
#pragma once

#include <span>

#include "gradus/engine/tensor.h"

namespace gradus {

/// Absolute positions of rows. Positions of multiple examples are concatenated.
using PositionList = std::span<const std::int64_t>;

/// Returns the distances |query − key|: [T, S], or [B, 1, T, S] for B examples.
Tensor position_distances(PositionList queries, PositionList keys, std::int64_t examples = 0,
                          Dtype dtype = default_dtype());

/// Returns ALiBi slopes [heads] (Press et al. 2022). For 2ⁿ heads: the geometric series with first
/// term and ratio 2^(−8/heads). Otherwise: the series of the next smaller power of two, then every
/// other term of the series of the next larger.
Tensor alibi_slopes(std::int64_t heads, Dtype dtype = default_dtype());

/// Returns −slope · |query − key|: [heads, T, S] or [B, heads, T, S], for AttentionOptions::bias.
Tensor alibi_bias(std::int64_t heads, PositionList queries, PositionList keys,
                  std::int64_t examples = 0, Dtype dtype = default_dtype());

/// Bucketing of distances. Defaults are as in T5 (Raffel et al. 2020).
struct RelativeBuckets {
  std::int64_t count = 32;          // total number; must be even if bidirectional
  std::int64_t max_distance = 128;  // larger distances share one bucket
  bool bidirectional = true;        // true: later keys use the upper half; false: distance 0
};

/// Returns T5's bucket (Raffel et al. 2020). Of the n buckets per direction, n / 2 hold one
/// distance each; the other buckets grow geometrically up to max_distance.
std::int64_t relative_bucket(std::int64_t key_minus_query, const RelativeBuckets& options = {});
/// Returns relative_bucket() for each pair: i64 [T, S] or [B, T, S].
Tensor relative_buckets(PositionList queries, PositionList keys,
                        const RelativeBuckets& options = {}, std::int64_t examples = 0);

}  // namespace gradus
