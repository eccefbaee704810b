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
#include "gradus/base/kernel.h"
#include "gradus/base/parallel.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/attention_rows.h"
#include "gradus/ops/vmath.h"

namespace gradus::kernel {
namespace {

constexpr std::int64_t kQueries = 64;  // a block of scores stays in the second-level cache
constexpr std::int64_t kTile = 64;     // keys: the grain in which masks are skipped
constexpr std::int64_t kSpan = 512;    // keys: the widest product

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

template <class T>
GRADUS_KERNEL void hide_row(T* scores, const bool* allowed, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j)
    scores[j] = allowed[j] ? scores[j] : -std::numeric_limits<T>::infinity();
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

/// scores = q kᵀ · scale + bias, hidden ones −∞; rows of keys.size().
template <class T>
void compute_scores(const AttentionPlan& plan, std::int64_t b, std::int64_t h, Range queries,
                    Range keys, Heads<const T> q, Heads<const T> k, T* scores) {
  blas::gemm_serial(false, true, queries.size(), keys.size(), plan.D, static_cast<T>(plan.scale),
                    q.at(b, h, queries.first), q.row, k.at(b, h, keys.first), k.row, T{0}, scores,
                    keys.size());
  if (plan.bias.defined()) add_bias(plan.bias, b, h, queries, keys, scores);
  if (!plan.mask.allows_everything()) hide(plan, b, h, queries, keys, scores);
}

/// row = exp(row − m), and its sum.
template <class T>
GRADUS_KERNEL T exp_row(T* row, std::int64_t n, T m) {
  return vmath::sum_of<T>(n, [=](std::int64_t j) { return row[j] = vmath::exp(row[j] - m); });
}

template <class T>
GRADUS_KERNEL T max_row(const T* row, std::int64_t n) {
  return vmath::max(row, n);
}

template <class T>
GRADUS_KERNEL void scale_row(T* row, std::int64_t n, T factor) {
  for (std::int64_t j = 0; j < n; ++j) row[j] *= factor;
}

template <class T>
GRADUS_KERNEL void drop_row(T* row, const std::uint32_t* words, std::int64_t n,
                            std::uint32_t threshold, T scale) {
  for (std::int64_t j = 0; j < n; ++j) row[j] = words[j] >= threshold ? row[j] * scale : T{0};
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
                   Heads<const T> q, Heads<const T> k, Heads<const T> v, Heads<T> o, T* lse,
                   T* scores) {
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  T m[kQueries], l[kQueries];
  std::uint32_t words[kSpan];
  std::fill_n(m, queries.size(), kNone), std::fill_n(l, queries.size(), T{0});
  bool first = true;
  for (const Range& keys : visible_spans(plan, b, h, queries)) {
    compute_scores(plan, b, h, queries, keys, q, k, scores);
    for (std::int64_t r = 0; r < queries.size(); ++r) {
      T* row = scores + r * keys.size();
      const T highest = std::max(m[r], max_row(row, keys.size()));
      const T shift = highest == kNone ? T{0} : highest;  // nothing seen yet: exp(−∞) = 0, not NaN
      const T keep = std::exp(m[r] - shift);
      l[r] = l[r] * keep + exp_row(row, keys.size(), shift);
      if (plan.dropout.threshold)
        drop_row(row, draw(plan, b, h, queries.first + r, keys, words), keys.size(),
                 plan.dropout.threshold, static_cast<T>(plan.dropout.scale));
      if (!first && keep != T{1}) scale_row(o.at(b, h, queries.first + r), plan.Dv, keep);
      m[r] = highest;
    }
    blas::gemm_serial(false, false, queries.size(), plan.Dv, keys.size(), T{1}, scores, keys.size(),
                      v.at(b, h, keys.first), v.row, first ? T{0} : T{1}, o.at(b, h, queries.first),
                      o.row);
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

/// p = exp(s − lse), ds = p (dp − d); with dropout the weights that met v were p·z.
template <class T>
GRADUS_KERNEL void weights_row_backward(T* p, T* dp, std::int64_t n, T lse, T d) {
  for (std::int64_t j = 0; j < n; ++j) {
    p[j] = vmath::exp(p[j] - lse);
    dp[j] = p[j] * (dp[j] - d);
  }
}

template <class T>
GRADUS_KERNEL void dropped_row_backward(T* p, T* dp, std::int64_t n, T lse, T d,
                                        const std::uint32_t* words, std::uint32_t threshold,
                                        T scale) {
  for (std::int64_t j = 0; j < n; ++j) {
    const T weight = vmath::exp(p[j] - lse), z = words[j] >= threshold ? scale : T{0};
    p[j] = weight * z;
    dp[j] = weight * (dp[j] * z - d);
  }
}

template <class T>
struct BackwardHeads {
  Heads<const T> q, k, v, o, dout;
  const T* lse;
  Heads<T> dq, dk, dv;
};

/// One block of queries against one span of keys, backward.
template <class T>
void backward_tile(const AttentionPlan& plan, std::int64_t b, std::int64_t h, Range queries,
                   Range keys, const BackwardHeads<T>& x, const T* d, bool first, T* p, T* dp) {
  std::uint32_t words[kSpan];
  const std::int64_t rows = queries.size(), n = keys.size();
  const T scale = static_cast<T>(plan.scale);
  compute_scores(plan, b, h, queries, keys, x.q, x.k, p);
  blas::gemm_serial(false, true, rows, n, plan.Dv, T{1}, x.dout.at(b, h, queries.first), x.dout.row,
                    x.v.at(b, h, keys.first), x.v.row, T{0}, dp, n);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t i = queries.first + r;
    const T lse = x.lse[(b * plan.H + h) * plan.T + i];
    const T shift = std::isinf(lse) ? T{0} : lse;  // a row without keys: all scores are −∞, p = 0
    if (plan.dropout.threshold)
      dropped_row_backward(p + r * n, dp + r * n, n, shift, d[i], draw(plan, b, h, i, keys, words),
                           plan.dropout.threshold, static_cast<T>(plan.dropout.scale));
    else
      weights_row_backward(p + r * n, dp + r * n, n, shift, d[i]);
  }
  blas::gemm_serial(true, false, n, plan.Dv, rows, T{1}, p, n, x.dout.at(b, h, queries.first),
                    x.dout.row, T{1}, x.dv.at(b, h, keys.first), x.dv.row);
  blas::gemm_serial(true, false, n, plan.D, rows, scale, dp, n, x.q.at(b, h, queries.first),
                    x.q.row, T{1}, x.dk.at(b, h, keys.first), x.dk.row);
  blas::gemm_serial(false, false, rows, plan.D, n, scale, dp, n, x.k.at(b, h, keys.first), x.k.row,
                    first ? T{0} : T{1}, x.dq.at(b, h, queries.first), x.dq.row);
}

template <class T>
GRADUS_KERNEL T dot_row(const T* a, const T* b, std::int64_t n) {
  return vmath::dot(a, b, n);
}

template <class T>
void clear(Heads<T> x, std::int64_t b, std::int64_t h, std::int64_t rows, std::int64_t width) {
  for (std::int64_t r = 0; r < rows; ++r) std::fill_n(x.at(b, h, r), width, T{0});
}

/// One head backward. Blocks of queries add to dk and dv, so they go one after the other.
template <class T>
void backward_head(const AttentionPlan& plan, std::int64_t b, std::int64_t h,
                   const BackwardHeads<T>& x) {
  clear(x.dk, b, h, plan.S, plan.D), clear(x.dv, b, h, plan.S, plan.Dv);
  std::vector<T> d(static_cast<std::size_t>(plan.T));
  for (std::int64_t i = 0; i < plan.T; ++i)
    d[static_cast<std::size_t>(i)] = dot_row(x.dout.at(b, h, i), x.o.at(b, h, i), plan.Dv);
  Tensor buffer = Tensor::empty({2, kQueries, std::min(plan.S, kSpan)}, dtype_of<T>);
  T *p = buffer.mutable_data<T>(), *dp = p + buffer.numel() / 2;
  for (std::int64_t i = 0; i < plan.T; i += kQueries) {
    const Range queries{i, std::min(i + kQueries, plan.T)};
    const std::vector<Range> spans = visible_spans(plan, b, h, queries);
    for (const Range& keys : spans)
      backward_tile(plan, b, h, queries, keys, x, d.data(), &keys == &spans.front(), p, dp);
    if (spans.empty())
      for (std::int64_t r = queries.first; r < queries.last; ++r)
        std::fill_n(x.dq.at(b, h, r), plan.D, T{0});
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
  const std::int64_t blocks = (plan.T + kQueries - 1) / kQueries;
  // Blocks from the last to the first: under a causal mask those are the longest.
  parallel_for(plan.B * plan.H * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    Tensor buffer = Tensor::empty({kQueries, std::min(plan.S, kSpan)}, dtype_of<T>);
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t head = item % (plan.B * plan.H), b = head / plan.H, h = head % plan.H;
      const std::int64_t i = (blocks - 1 - item / (plan.B * plan.H)) * kQueries;
      const Range queries{i, std::min(i + kQueries, plan.T)};
      if (plan.by_pairs && may_leak(plan, b, h, q, k, v))
        for (std::int64_t r = queries.first; r < queries.last; ++r)
          forward_row(plan, b, h, r, q, k, v, o, lse);
      else
        forward_block(plan, b, h, queries, q, k, v, o, lse, buffer.mutable_data<T>());
    }
  });
}

template <class T>
void attention_backward(const AttentionPlan& plan, Heads<const T> q, Heads<const T> k,
                        Heads<const T> v, Heads<const T> o, Heads<const T> dout, const T* lse,
                        Heads<T> dq, Heads<T> dk, Heads<T> dv) {
  const BackwardHeads<T> x{q, k, v, o, dout, lse, dq, dk, dv};
  parallel_for(plan.B * plan.H, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t head = begin; head < end; ++head) {
      const std::int64_t b = head / plan.H, h = head % plan.H;
      if (plan.by_pairs &&
          (may_leak(plan, b, h, q, k, v) || !all_finite(dout, b, h, plan.T, plan.Dv)))
        rows_backward(plan, b, h, q, k, v, dout, lse, dq, dk, dv);
      else
        backward_head(plan, b, h, x);
    }
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
