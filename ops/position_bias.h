// Attention biases by distance: ALiBi and T5's buckets. Positions are absolute, as in masks and
// caches. If `examples` > 0, each example has its own positions, concatenated.
#pragma once

#include <span>

#include "gradus/engine/tensor.h"

namespace gradus {

/// Absolute positions of rows; those of several examples are concatenated.
using PositionList = std::span<const std::int64_t>;

/// Distances |query − key|: [T, S], or [B, 1, T, S] for B examples.
Tensor position_distances(PositionList queries, PositionList keys, std::int64_t examples = 0,
                          Dtype dtype = default_dtype());

/// ALiBi slopes [heads] (Press et al. 2022). For 2ⁿ heads, the geometric series from 2^(−8/heads)
/// with that ratio. Otherwise that of the next smaller power of two, then every other one of the
/// next larger.
Tensor alibi_slopes(std::int64_t heads, Dtype dtype = default_dtype());

/// −slope · |query − key|: [heads, T, S] or [B, heads, T, S], for AttentionOptions::bias.
Tensor alibi_bias(std::int64_t heads, PositionList queries, PositionList keys,
                  std::int64_t examples = 0, Dtype dtype = default_dtype());

/// Bucketing of distances; defaults as in T5 (Raffel et al. 2020).
struct RelativeBuckets {
  std::int64_t count = 32;          // total; even if bidirectional
  std::int64_t max_distance = 128;  // distances from here on share a bucket
  bool bidirectional = true;        // keys after the query use the upper half; otherwise distance 0
};

/// T5's buckets (Raffel et al. 2020): of the n buckets per direction, n / 2 hold one distance each;
/// the others grow geometrically up to max_distance.
std::int64_t relative_bucket(std::int64_t key_minus_query, const RelativeBuckets& options = {});
/// relative_bucket of each pair: i64 [T, S] or [B, T, S].
Tensor relative_buckets(PositionList queries, PositionList keys,
                        const RelativeBuckets& options = {}, std::int64_t examples = 0);

}  // namespace gradus
