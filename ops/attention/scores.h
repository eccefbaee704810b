// What attention forward and backward share: the spans of keys that a block of queries may see, and
// the scores of one.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "gradus/base/products/multiply.h"
#include "gradus/ops/attention/kernel.h"
#include "gradus/ops/attention/tile.h"

namespace gradus::kernel {

using products::Matrix;
using products::multiply;
using products::Stride;

inline constexpr std::int64_t kQueries = 64;  // a block of scores stays in the second-level cache
inline constexpr std::int64_t kTile = 32;     // keys: the grain in which masks are skipped
inline constexpr std::int64_t kSpan = 512;    // keys: the widest product

/// Queries in a block. Of a short causal triangle, and of a narrow window, half blocks leave out
/// more than the larger products would win.
inline std::int64_t block_of(const AttentionPlan& plan) {
  return plan.S <= kSpan || plan.sees_few ? kQueries / 2 : kQueries;
}

/// Keys in a span: as many as the first-level cache has room for (8,192 numbers), or all where few
/// are seen. Up to 10⁶ multiplications OpenBLAS does not copy its operands first (on AVX-512);
/// where not even two tiles of keys stay below that, the widest span is best.
inline std::int64_t span_of(const AttentionPlan& plan) {
  const std::int64_t width = std::max<std::int64_t>({plan.D, plan.Dv, 1});
  const std::int64_t room = plan.sees_few ? kSpan : 8192 / width;
  const std::int64_t most = std::min(room, 1'000'000 / (block_of(plan) * width));
  const std::int64_t span = most / kTile * kTile;
  return span < 2 * kTile ? kSpan : std::min(span, kSpan);
}

struct Range {
  std::int64_t first, last;
  std::int64_t size() const { return last - first; }
};

/// Appends keys to spans of at most `widest`; where they follow the last span, they fill it first.
inline void append(std::vector<Range>& spans, Range keys, std::int64_t widest) {
  while (keys.size() > 0) {
    if (spans.empty() || spans.back().last != keys.first || spans.back().size() == widest)
      spans.push_back({keys.first, keys.first});
    const std::int64_t more = std::min(keys.size(), widest - spans.back().size());
    spans.back().last += more, keys.first += more;
  }
}

/// The part of `keys` that some query of the block may see, in whole tiles. What the mask says of
/// the halves of a range is asked only where it hides some of it: a window costs the logarithm of
/// what it leaves out.
inline void add_visible(const AttentionPlan& plan, std::int64_t b, std::int64_t h, Range queries,
                        Range keys, std::vector<Range>& spans) {
  const Coverage seen =
      plan.mask.coverage({b, h, queries.first, queries.last, keys.first, keys.last});
  if (seen == Coverage::none) return;
  if (seen == Coverage::all || keys.size() <= kTile) return append(spans, keys, span_of(plan));
  const std::int64_t half = (keys.size() / 2 + kTile - 1) / kTile * kTile;
  add_visible(plan, b, h, queries, {keys.first, keys.first + half}, spans);
  add_visible(plan, b, h, queries, {keys.first + half, keys.last}, spans);
}

inline std::vector<Range> visible_spans(const AttentionPlan& plan, std::int64_t b, std::int64_t h,
                                        Range queries) {
  std::vector<Range> spans;
  add_visible(plan, b, h, queries, {0, plan.S}, spans);
  return spans;
}

/// For plan.sees_few: what the middle of the first head's queries see stands for all.
inline bool few_visible(const AttentionPlan& plan) {
  if (plan.mask.allows_everything() || plan.B * plan.H == 0) return false;
  const std::int64_t first = plan.T / 2, last = std::min(first + kQueries, plan.T);
  std::int64_t keys = 0;
  for (const Range& span : visible_spans(plan, 0, 0, {first, last})) keys += span.size();
  return keys <= kSpan;
}

/// xᵀ for some keys: number c of key j is at(j)[c · row].
template <class T>
struct Columns {
  const T* data;
  std::int64_t first, row;
  const T* at(std::int64_t key) const { return data + (key - first); }
};

/// How far apart the rows of n columns lie: at a power of two all would share one set of the cache.
inline std::int64_t columns_apart(std::int64_t n) { return n < 256 ? n : n + 16; }

/// −∞ in a row of n but for what is seen of it.
template <class T>
void hide_around(T* row, MaskStretch seen, std::int64_t n) {
  const std::int64_t begin = seen.begin < seen.end ? seen.begin : n;
  std::fill(row, row + begin, -std::numeric_limits<T>::infinity());
  std::fill(row + std::max(begin, seen.end), row + n, -std::numeric_limits<T>::infinity());
}

/// −∞ where the mask hides, tile by tile where it hides only some.
template <class T>
void hide(const AttentionPlan& plan, std::int64_t b, std::int64_t h, Range queries, Range keys,
          T* scores) {
  const auto seen = [&](std::int64_t first, std::int64_t last) {
    return plan.mask.coverage({b, h, queries.first, queries.last, first, last});
  };
  if (seen(keys.first, keys.last) == Coverage::all) return;
  bool allowed[kTile];
  for (std::int64_t key = keys.first; key < keys.last; key += kTile) {
    const std::int64_t last = std::min(key + kTile, keys.last);
    if (seen(key, last) == Coverage::all) continue;
    for (std::int64_t i = queries.first; i < queries.last; ++i) {
      T* row = scores + (i - queries.first) * keys.size() + (key - keys.first);
      if (const auto seen_by = plan.mask.stretch({b, h, i, key}, last - key)) {
        hide_around(row, *seen_by, last - key);
        continue;
      }
      plan.mask.row({b, h, i, key}, last - key, allowed);
      simd::run<hide_row<T>>(row, allowed, last - key);
    }
  }
}

template <class T>
void add_bias(const Tensor& bias, std::int64_t b, std::int64_t h, Range queries, Range keys,
              T* scores) {
  const Strides& step = bias.strides();
  for (std::int64_t i = queries.first; i < queries.last; ++i, scores += keys.size()) {
    const T* row = bias.data<T>() + b * step[0] + h * step[1] + i * step[2] + keys.first * step[3];
    for (std::int64_t j = 0; j < keys.size(); ++j) scores[j] += row[j * step[3]];
  }
}

/// What comes to the products of queries and keys: the bias, and −∞ where the mask hides.
template <class T>
void finish_scores(const AttentionPlan& plan, std::int64_t b, std::int64_t h, Range queries,
                   Range keys, T* scores) {
  if (plan.bias.defined()) add_bias(plan.bias, b, h, queries, keys, scores);
  if (!plan.mask.allows_everything()) hide(plan, b, h, queries, keys, scores);
}

/// scores = q kᵀ · scale + bias, hidden ones −∞; rows of keys.size(). q is packed.
template <class T>
void compute_scores(const AttentionPlan& plan, std::int64_t b, std::int64_t h, Range queries,
                    Range keys, const T* q, const Columns<T>& kt, T* scores) {
  multiply(Matrix<T>(scores, queries.size(), keys.size()), {q, queries.size(), plan.D},
           {kt.at(keys.first), plan.D, keys.size(), Stride{kt.row}},
           {.alpha = static_cast<T>(plan.scale)});
  finish_scores(plan, b, h, queries, keys, scores);
}

/// The same from the keys themselves.
template <class T>
void compute_few_scores(const AttentionPlan& plan, std::int64_t b, std::int64_t h, Range queries,
                        Range keys, const T* q, const Rows<const T>& k, T* scores) {
  const Matrix<const T> seen(k.at(keys.first), keys.size(), plan.D, Stride{k.row});
  multiply(Matrix<T>(scores, queries.size(), keys.size()), {q, queries.size(), plan.D},
           seen.transpose(), {.alpha = static_cast<T>(plan.scale)});
  finish_scores(plan, b, h, queries, keys, scores);
}

/// The random words of one row of weights: its logical index in [B, H, T, S], as everywhere.
inline const std::uint32_t* draw(const AttentionPlan& plan, std::int64_t b, std::int64_t h,
                                 std::int64_t i, Range keys, std::uint32_t* words) {
  plan.dropout.stream.words(((b * plan.H + h) * plan.T + i) * plan.S + keys.first, keys.size(),
                            words);
  return words;
}

}  // namespace gradus::kernel
