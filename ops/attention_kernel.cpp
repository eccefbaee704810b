// Attention in tiles (after Dao et al. 2022, Milakov & Gimelshein 2018 for the running maximum).
//
//   forward, for a block of queries and each span of keys that it may see:
//     s = q kᵀ · scale          m' = max(m, max s)        p = exp(s − m')
//     l = l·exp(m − m') + Σ p   o = o·exp(m − m') + p v   at the end: o / l, lse = m + log l
//   backward, with d = Σ dout·o for each query (which is Σ p·dp):
//     p = exp(s − lse)          dv += pᵀ dout             dp = dout vᵀ
//     ds = p (dp − d) · scale   dq += ds k                dk += dsᵀ q
//
// Spans that the mask hides are skipped. Where something is hidden, a NaN in q, k, v or dout would
// leak through 0 × NaN inside the products: such heads go through attention_rows.h instead.

#include "gradus/ops/attention_kernel.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "gradus/base/blas.h"
#include "gradus/base/parallel.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/attention_rows.h"
#include "gradus/ops/attention_tile.h"

namespace gradus::kernel {
namespace {

constexpr std::int64_t kQueries = 64;  // a block of scores stays in the second-level cache
constexpr std::int64_t kTile = 32;     // keys: the grain in which masks are skipped
constexpr std::int64_t kSpan = 512;    // keys: the widest product

/// Queries in a block. Of a short causal triangle, half blocks leave out more than the larger
/// products would win.
std::int64_t block_of(const AttentionPlan& plan) {
  return plan.S <= kSpan ? kQueries / 2 : kQueries;
}

struct Range {
  std::int64_t first, last;
  std::int64_t size() const { return last - first; }
};

/// The keys that some query of the block may see, in spans of whole tiles.
std::vector<Range> visible_spans(const AttentionPlan& plan, std::int64_t b, std::int64_t h,
                                 Range queries) {
  std::vector<Range> spans;
  for (std::int64_t key = 0; key < plan.S; key += kTile) {
    const Range tile{key, std::min(key + kTile, plan.S)};
    if (plan.mask.coverage({b, h, queries.first, queries.last, tile.first, tile.last}) ==
        Coverage::none)
      continue;
    const bool extends =
        !spans.empty() && spans.back().last == key && spans.back().size() + kTile <= kSpan;
    if (extends)
      spans.back().last = tile.last;
    else
      spans.push_back(tile);
  }
  return spans;
}

/// −∞ where the mask hides, tile by tile where it hides only some.
template <class T>
void hide(const AttentionPlan& plan, std::int64_t b, std::int64_t h, Range queries, Range keys,
          T* scores) {
  bool allowed[kTile];
  for (std::int64_t key = keys.first; key < keys.last; key += kTile) {
    const std::int64_t last = std::min(key + kTile, keys.last);
    if (plan.mask.coverage({b, h, queries.first, queries.last, key, last}) == Coverage::all)
      continue;
    for (std::int64_t i = queries.first; i < queries.last; ++i) {
      T* row = scores + (i - queries.first) * keys.size() + (key - keys.first);
      if (const std::int64_t seen = plan.mask.prefix({b, h, i, key}, last - key); seen >= 0) {
        std::fill_n(row + seen, last - key - seen, -std::numeric_limits<T>::infinity());
        continue;
      }
      plan.mask.row({b, h, i, key}, last - key, allowed);
      hide_row(row, allowed, last - key);
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

/// scores = q kᵀ · scale + bias, hidden ones −∞; rows of keys.size(). kt is kᵀ [D, S].
template <class T>
void compute_scores(const AttentionPlan& plan, std::int64_t b, std::int64_t h, Range queries,
                    Range keys, Heads<const T> q, const T* kt, T* scores) {
  blas::gemm_serial(false, false, queries.size(), keys.size(), plan.D, static_cast<T>(plan.scale),
                    q.at(b, h, queries.first), q.row, kt + keys.first, plan.S, T{0}, scores,
                    keys.size());
  if (plan.bias.defined()) add_bias(plan.bias, b, h, queries, keys, scores);
  if (!plan.mask.allows_everything()) hide(plan, b, h, queries, keys, scores);
}

/// The random words of one row of weights: its logical index in [B, H, T, S], as everywhere.
const std::uint32_t* draw(const AttentionPlan& plan, std::int64_t b, std::int64_t h, std::int64_t i,
                          Range keys, std::uint32_t* words) {
  plan.dropout.stream.words(((b * plan.H + h) * plan.T + i) * plan.S + keys.first, keys.size(),
                            words);
  return words;
}

/// One block of queries forward.
template <class T>
void forward_block(const AttentionPlan& plan, std::int64_t b, std::int64_t h, Range queries,
                   Heads<const T> q, const T* kt, Heads<const T> v, Heads<T> o, T* lse, T* scores) {
  T m[kQueries], l[kQueries], keep[kQueries];
  std::uint32_t words[kSpan];
  std::fill_n(m, queries.size(), -std::numeric_limits<T>::infinity()),
      std::fill_n(l, queries.size(), T{0});
  bool first = true;
  for (const Range& keys : visible_spans(plan, b, h, queries)) {
    compute_scores(plan, b, h, queries, keys, q, kt, scores);
    softmax_rows(scores, queries.size(), keys.size(), m, l, keep);
    for (std::int64_t r = 0; r < queries.size(); ++r) {
      if (plan.dropout.threshold)
        drop_row(scores + r * keys.size(), draw(plan, b, h, queries.first + r, keys, words),
                 keys.size(), plan.dropout.threshold, static_cast<T>(plan.dropout.scale));
      if (!first && keep[r] != T{1}) scale_row(o.at(b, h, queries.first + r), plan.Dv, keep[r]);
    }
    blas::gemm_serial(false, false, queries.size(), plan.Dv, keys.size(), T{1}, scores, keys.size(),
                      v.at(b, h / plan.group(), keys.first), v.row, first ? T{0} : T{1},
                      o.at(b, h, queries.first), o.row);
    first = false;
  }
  for (std::int64_t r = 0; r < queries.size(); ++r) {
    T* row = o.at(b, h, queries.first + r);
    if (l[r] == T{0})
      std::fill_n(row, plan.Dv, T{0});
    else
      scale_row(row, plan.Dv, T{1} / l[r]);
    lse[(b * plan.H + h) * plan.T + queries.first + r] = m[r] + std::log(l[r]);
  }
}

template <class T>
struct BackwardHeads {
  Heads<const T> q, k, v, o, dout;
  const T* lse;
  Heads<T> dq, dk, dv;
};

/// What the blocks of one head share.
template <class T>
struct HeadBackward {
  const T *kt, *vt;  // kᵀ [D, S], vᵀ [Dv, S]
  const T *lse, *d;  // of each query
  T *p, *dp;         // a block of scores
};

/// One block of queries against one span of keys, backward.
template <class T>
void backward_tile(const AttentionPlan& plan, std::int64_t b, std::int64_t h, Range queries,
                   Range keys, const BackwardHeads<T>& x, const HeadBackward<T>& head, bool first) {
  std::uint32_t words[kSpan];
  T *p = head.p, *dp = head.dp;
  const T *lse = head.lse + queries.first, *d = head.d + queries.first;
  const std::int64_t rows = queries.size(), n = keys.size(), hk = h / plan.group();
  const T scale = static_cast<T>(plan.scale);
  compute_scores(plan, b, h, queries, keys, x.q, head.kt, p);
  blas::gemm_serial(false, false, rows, n, plan.Dv, T{1}, x.dout.at(b, h, queries.first),
                    x.dout.row, head.vt + keys.first, plan.S, T{0}, dp, n);
  if (plan.dropout.threshold)
    for (std::int64_t r = 0; r < rows; ++r)
      dropped_row_backward(p + r * n, dp + r * n, n, lse[r], d[r],
                           draw(plan, b, h, queries.first + r, keys, words), plan.dropout.threshold,
                           static_cast<T>(plan.dropout.scale));
  else
    weights_rows_backward(p, dp, rows, n, lse, d);
  blas::gemm_serial(true, false, n, plan.Dv, rows, T{1}, p, n, x.dout.at(b, h, queries.first),
                    x.dout.row, T{1}, x.dv.at(b, hk, keys.first), x.dv.row);
  blas::gemm_serial(true, false, n, plan.D, rows, scale, dp, n, x.q.at(b, h, queries.first),
                    x.q.row, T{1}, x.dk.at(b, hk, keys.first), x.dk.row);
  blas::gemm_serial(false, false, rows, plan.D, n, scale, dp, n, x.k.at(b, hk, keys.first), x.k.row,
                    first ? T{0} : T{1}, x.dq.at(b, h, queries.first), x.dq.row);
}

template <class T>
void clear(Heads<T> x, std::int64_t b, std::int64_t h, std::int64_t rows, std::int64_t width) {
  for (std::int64_t r = 0; r < rows; ++r) std::fill_n(x.at(b, h, r), width, T{0});
}

/// One key head backward, with each query head that it serves. Blocks of queries add to dk and dv,
/// so they go one after the other.
template <class T>
void backward_head(const AttentionPlan& plan, std::int64_t b, std::int64_t hk,
                   const BackwardHeads<T>& x) {
  clear(x.dk, b, hk, plan.S, plan.D), clear(x.dv, b, hk, plan.S, plan.Dv);
  const std::int64_t tile = kQueries * std::min(plan.S, kSpan);
  Tensor buffer = Tensor::empty({2 * tile + (plan.D + plan.Dv) * plan.S + 2 * plan.T}, dtype_of<T>);
  T *p = buffer.mutable_data<T>(), *dp = p + tile, *kt = dp + tile, *vt = kt + plan.D * plan.S;
  T *d = vt + plan.Dv * plan.S, *lse = d + plan.T;
  transpose_head(x.k.at(b, hk, 0), x.k.row, plan.S, plan.D, kt);
  transpose_head(x.v.at(b, hk, 0), x.v.row, plan.S, plan.Dv, vt);
  const HeadBackward<T> head{kt, vt, lse, d, p, dp};
  for (std::int64_t h = hk * plan.group(); h < (hk + 1) * plan.group(); ++h) {
    if (plan.by_pairs &&
        (may_leak(plan, b, h, x.q, x.k, x.v) || !all_finite(x.dout, b, h, plan.T, plan.Dv))) {
      rows_backward(plan, b, h, x.q, x.k, x.v, x.dout, x.lse, x.dq, x.dk, x.dv);
      continue;
    }
    dot_rows(x.dout.at(b, h, 0), x.dout.row, x.o.at(b, h, 0), x.o.row, plan.T, plan.Dv, d);
    // A row without keys has lse −∞: all its scores are −∞ too, and 0 makes p = exp(−∞) = 0 of
    // them.
    std::transform(x.lse + (b * plan.H + h) * plan.T, x.lse + (b * plan.H + h + 1) * plan.T, lse,
                   [](T value) { return std::isinf(value) ? T{0} : value; });
    for (std::int64_t i = 0; i < plan.T; i += block_of(plan)) {
      const Range queries{i, std::min(i + block_of(plan), plan.T)};
      const std::vector<Range> spans = visible_spans(plan, b, h, queries);
      for (const Range& keys : spans)
        backward_tile(plan, b, h, queries, keys, x, head, &keys == &spans.front());
      if (spans.empty())
        for (std::int64_t r = queries.first; r < queries.last; ++r)
          std::fill_n(x.dq.at(b, h, r), plan.D, T{0});
    }
  }
}

}  // namespace

bool all_finite(const Tensor& x) {
  std::atomic<bool> finite{true};
  dispatch_float("attention", x.dtype(), [&]<class T>() {
    const T* data = x.data<T>();
    for_each_row(
        x.shape(), std::span(&x.strides(), 1),
        [&](const Offsets& at, std::int64_t n, const Offsets& step) {
          if (step[0] == 1 ? !finite_row(data + at[0], n) : !finite_steps(data + at[0], step[0], n))
            finite.store(false, std::memory_order_relaxed);
        });
  });
  return finite;
}

template <class T>
void attention_forward(const AttentionPlan& plan, Heads<const T> q, Heads<const T> k,
                       Heads<const T> v, Heads<T> o, T* lse) {
  const std::int64_t block = block_of(plan), blocks = (plan.T + block - 1) / block;
  Tensor keys = Tensor::empty({plan.B * plan.Hk, plan.D, plan.S}, dtype_of<T>);
  T* kt = keys.mutable_data<T>();
  parallel_for(plan.B * plan.Hk, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t head = begin; head < end; ++head)
      transpose_head(k.at(head / plan.Hk, head % plan.Hk, 0), k.row, plan.S, plan.D,
                     kt + head * plan.D * plan.S);
  });
  // Blocks from the last to the first: under a causal mask those are the longest.
  parallel_for(plan.B * plan.H * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    Tensor buffer = Tensor::empty({kQueries, std::min(plan.S, kSpan)}, dtype_of<T>);
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t head = item % (plan.B * plan.H), b = head / plan.H, h = head % plan.H;
      const std::int64_t i = (blocks - 1 - item / (plan.B * plan.H)) * block;
      const Range queries{i, std::min(i + block, plan.T)};
      if (plan.by_pairs && may_leak(plan, b, h, q, k, v))
        for (std::int64_t r = queries.first; r < queries.last; ++r)
          forward_row(plan, b, h, r, q, k, v, o, lse);
      else
        forward_block(plan, b, h, queries, q, kt + head / plan.group() * plan.D * plan.S, v, o, lse,
                      buffer.mutable_data<T>());
    }
  });
}

template <class T>
void attention_backward(const AttentionPlan& plan, Heads<const T> q, Heads<const T> k,
                        Heads<const T> v, Heads<const T> o, Heads<const T> dout, const T* lse,
                        Heads<T> dq, Heads<T> dk, Heads<T> dv) {
  const BackwardHeads<T> x{q, k, v, o, dout, lse, dq, dk, dv};
  parallel_for(plan.B * plan.Hk, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t head = begin; head < end; ++head)
      backward_head(plan, head / plan.Hk, head % plan.Hk, x);
  });
}

template void attention_forward(const AttentionPlan&, Heads<const float>, Heads<const float>,
                                Heads<const float>, Heads<float>, float*);
template void attention_forward(const AttentionPlan&, Heads<const double>, Heads<const double>,
                                Heads<const double>, Heads<double>, double*);
template void attention_backward(const AttentionPlan&, Heads<const float>, Heads<const float>,
                                 Heads<const float>, Heads<const float>, Heads<const float>,
                                 const float*, Heads<float>, Heads<float>, Heads<float>);
template void attention_backward(const AttentionPlan&, Heads<const double>, Heads<const double>,
                                 Heads<const double>, Heads<const double>, Heads<const double>,
                                 const double*, Heads<double>, Heads<double>, Heads<double>);

}  // namespace gradus::kernel
