// Splits attention into tiles and finds the visible keys of a block.
#pragma once

#include <algorithm>
#include <vector>

#include "gradus/ops/attention/problem.h"

namespace gradus::kernel {

inline constexpr std::int64_t kMaxQueries = 64;     // per block: scores fit into the L2 cache
inline constexpr std::int64_t kTile = 32;           // keys per tile: granularity of mask skipping
inline constexpr std::int64_t kMaxSpan = 512;       // keys in the widest matmul
inline constexpr std::int64_t kSpanNumbers = 8192;  // values per span: fits into the L1 cache
inline constexpr std::int64_t kFewQueries = 4;      // too few to pack keys, as in decoding
inline constexpr std::int64_t kParts = 8;           // parts of the backward pass, over all heads
inline constexpr std::int64_t kPartWork = 1 << 21;  // minimum pairs · widths in a part

/// Returns the queries per block, half as many for short causal inputs and narrow windows.
inline std::int64_t block_size(const AttentionProblem& p) {
  return p.S <= kMaxSpan || p.narrow ? kMaxQueries / 2 : kMaxQueries;
}

/// Returns the keys per span: all keys if few are visible, otherwise the number that fits into the
/// L1 cache.
inline std::int64_t span_size(const AttentionProblem& p) {
  const std::int64_t room = kSpanNumbers / std::max<std::int64_t>({p.D, p.Dv, 1}) / kTile * kTile;
  return p.narrow || room < 2 * kTile ? kMaxSpan : std::min(room, kMaxSpan);
}

/// Returns the row stride of n columns. A power of two would cause cache-set conflicts.
inline std::int64_t padded_stride(std::int64_t n) { return n < 256 ? n : n + 16; }

/// Appends `keys` as spans of at most `widest` keys. Extends the last span if it is adjacent.
inline void append(std::vector<Range>& spans, Range keys, std::int64_t widest) {
  while (keys.size() > 0) {
    if (spans.empty() || spans.back().last != keys.first || spans.back().size() == widest)
      spans.push_back({keys.first, keys.first});
    const std::int64_t more = std::min(keys.size(), widest - spans.back().size());
    spans.back().last += more;
    keys.first += more;
  }
}

/// Removes the keys at the ends of a tile that are hidden from all queries of the head. This
/// ignores padding, even if NaN.
inline Range without_padding(const AttentionProblem& p, const QueryBlock& block, Range tile) {
  const auto hidden = [&](std::int64_t key) {
    return p.mask.coverage({block.b, block.h, 0, p.T, key, key + 1}) == Coverage::none;
  };
  while (tile.size() > 0 && hidden(tile.first)) ++tile.first;
  while (tile.size() > 0 && hidden(tile.last - 1)) --tile.last;
  return tile;
}

/// Appends the parts of `keys` that are visible to the block, in full tiles except for padding.
/// Bisects partly hidden ranges.
inline void add_visible(const AttentionProblem& p, const QueryBlock& block, Range keys,
                        std::vector<Range>& spans) {
  const Range q = block.queries;
  const Coverage seen = p.mask.coverage({block.b, block.h, q.first, q.last, keys.first, keys.last});
  if (seen == Coverage::none) return;
  if (seen == Coverage::all) return append(spans, keys, span_size(p));
  if (keys.size() <= kTile) return append(spans, without_padding(p, block, keys), span_size(p));
  const std::int64_t half = (keys.size() / 2 + kTile - 1) / kTile * kTile;
  add_visible(p, block, {keys.first, keys.first + half}, spans);
  add_visible(p, block, {keys.first + half, keys.last}, spans);
}

inline std::vector<Range> visible_spans(const AttentionProblem& p, const QueryBlock& block) {
  std::vector<Range> spans;
  add_visible(p, block, {0, p.S}, spans);
  return spans;
}

/// True if few keys are visible. Samples the middle queries of the first head.
inline bool sees_few_keys(const AttentionProblem& p) {
  if (p.mask.allows_everything() || p.B * p.H == 0) return false;
  const std::int64_t first = p.T / 2, last = std::min(first + kMaxQueries, p.T);
  std::int64_t keys = 0;
  for (const Range& span : visible_spans(p, {0, 0, {first, last}})) keys += span.size();
  return keys <= kMaxSpan;
}

/// A part of the backward pass for key head hk: items [first, last). Item n is block n / group() of
/// query head hk · group() + n % group(). `keys` covers all visible keys.
struct Part {
  std::int64_t b, hk, first, last;
  Range keys;
};

inline QueryBlock block_of(const AttentionProblem& p, const Part& part, std::int64_t item) {
  const std::int64_t first = item / p.group() * block_size(p);
  return {part.b,
          part.hk * p.group() + item % p.group(),
          {first, std::min(first + block_size(p), p.T)}};
}

inline Range keys_of(const AttentionProblem& p, const Part& part) {
  Range keys{p.S, 0};
  for (std::int64_t item = part.first; item < part.last; ++item)
    for (const Range& span : visible_spans(p, block_of(p, part, item)))
      keys = {std::min(keys.first, span.first), std::max(keys.last, span.last)};
  return keys.size() > 0 ? keys : Range{0, 0};
}

/// Returns one part for each key head, or multiple if there are few heads. The parts depend only on
/// the sizes and the mask, so sums are reproducible.
inline std::vector<Part> parts_of(const AttentionProblem& p, std::int64_t least = kPartWork) {
  const std::int64_t heads = p.B * p.Hk;
  const std::int64_t items = (p.T + block_size(p) - 1) / block_size(p) * p.group();
  const std::int64_t work = p.group() * p.T * p.S * (p.D + p.Dv);
  const std::int64_t wanted = heads == 0 ? 1 : (kParts + heads - 1) / heads;
  const std::int64_t count = std::clamp<std::int64_t>(work / least, 1, wanted);
  std::vector<Part> parts;
  for (std::int64_t n = 0; n < heads * count; ++n) {
    const std::int64_t head = n / count, i = n % count;
    parts.push_back(
        {head / p.Hk, head % p.Hk, items * i / count, items * (i + 1) / count, {0, p.S}});
    if (heads < kParts) parts.back().keys = keys_of(p, parts.back());
  }
  return parts;
}

}  // namespace gradus::kernel
