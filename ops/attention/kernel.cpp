// Attention forward in tiles (after Dao et al. 2022, Milakov & Gimelshein 2018 for the running
// maximum).
//
//   for a block of queries and each span of keys that it may see:
//     s = q kᵀ · scale          m' = max(m, max s)        p = exp(s − m')
//     l = l·exp(m − m') + Σ p   o = o·exp(m − m') + p v   at the end: o / l, lse = m + log l
//
// Spans that the mask hides are skipped. Where something else is hidden, a NaN in v would leak
// through 0 × NaN inside the product: such heads go through rows.h instead. One in q or k
// stays in its row or column of s, where −∞ replaces what is hidden.

#include "gradus/ops/attention/kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gradus/base/parallel.h"
#include "gradus/base/transpose.h"
#include "gradus/ops/attention/rows.h"
#include "gradus/ops/attention/scores.h"

namespace gradus::kernel {
namespace {

/// What the blocks of queries that share a key head read of it.
template <class T>
struct KeyHead {
  Tensor packed;  // kᵀ [D, apart], then v [S, Dv]; none for few queries
  // kᵀ in `packed`, for a small x yᵀ takes BLAS half as long again as x y; or none: k is read.
  Columns<T> kt;
  Rows<const T> k, v;  // v in `packed`, or where it lies
  bool leaks = false;  // v is not finite, and something is hidden
};

template <class T>
KeyHead<T> key_head(const AttentionPlan& plan, Heads<const T> k, Heads<const T> v,
                    std::int64_t head) {
  const std::int64_t b = head / plan.Hk, h = head % plan.Hk, apart = columns_apart(plan.S);
  KeyHead<T> out{{}, {}, {k.at(b, h, 0), 0, k.row}, {v.at(b, h, 0), 0, v.row}};
  if (plan.T <= kFewQueries) {
    out.leaks = plan.hides && !all_finite(out.v.data, v.row, plan.S, plan.Dv);
    return out;
  }
  out.packed = Tensor::empty({plan.D * apart + plan.S * plan.Dv}, dtype_of<T>);
  T *kt = out.packed.template mutable_data<T>(), *values = kt + plan.D * apart;
  for (std::int64_t first = 0; first < plan.S; first += kSpan) {  // what is read once stays near
    const std::int64_t n = std::min(kSpan, plan.S - first);
    simd::run<transpose<T>>(out.k.at(first), k.row, n, plan.D, kt + first, apart);
    copy_rows(out.v.at(first), v.row, n, plan.Dv, values + first * plan.Dv, plan.Dv);
    out.leaks |= plan.hides && !simd::run<finite_row<T>>(values + first * plan.Dv, n * plan.Dv);
  }
  out.kt = {kt, 0, apart}, out.v = {values, 0, plan.Dv};
  return out;
}

/// One block of queries forward.
template <class T>
void forward_block(const AttentionPlan& plan, std::int64_t b, std::int64_t h, Range queries,
                   Heads<const T> q, const KeyHead<T>& shared, Heads<T> o, T* lse, T* buffer) {
  T *packed = buffer, *scores = packed + kQueries * plan.D;
  copy_rows(q.at(b, h, queries.first), q.row, queries.size(), plan.D, packed, plan.D);
  fetch_rows(o.at(b, h, queries.first), o.row, queries.size(), plan.Dv);
  T m[kQueries], l[kQueries], keep[kQueries];
  std::uint32_t words[kSpan];
  std::fill_n(m, queries.size(), -std::numeric_limits<T>::infinity()),
      std::fill_n(l, queries.size(), T{0});
  bool first = true;
  for (const Range& keys : visible_spans(plan, b, h, queries)) {
    if (shared.kt.data)
      compute_scores(plan, b, h, queries, keys, packed, shared.kt, scores);
    else
      compute_few_scores(plan, b, h, queries, keys, packed, shared.k, scores);
    simd::run<softmax_rows<T>>(scores, queries.size(), keys.size(), m, l, keep);
    for (std::int64_t r = 0; r < queries.size(); ++r) {
      if (plan.dropout.threshold)
        simd::run<drop_row<T>>(scores + r * keys.size(),
                               draw(plan, b, h, queries.first + r, keys, words), keys.size(),
                               plan.dropout.threshold, static_cast<T>(plan.dropout.scale));
      if (!first && keep[r] != T{1})
        simd::run<scale_row<T>>(o.at(b, h, queries.first + r), plan.Dv, keep[r]);
    }
    multiply(Matrix<T>(o.at(b, h, queries.first), queries.size(), plan.Dv, Stride{o.row}),
             {scores, queries.size(), keys.size()},
             {shared.v.at(keys.first), keys.size(), plan.Dv, Stride{shared.v.row}},
             {.beta = first ? T{0} : T{1}});
    first = false;
  }
  for (std::int64_t r = 0; r < queries.size(); ++r) {
    T* row = o.at(b, h, queries.first + r);
    if (l[r] == T{0})
      std::fill_n(row, plan.Dv, T{0});
    else
      simd::run<scale_row<T>>(row, plan.Dv, T{1} / l[r]);
    lse[(b * plan.H + h) * plan.T + queries.first + r] = m[r] + std::log(l[r]);
  }
}

}  // namespace

template <class T>
void attention_forward(const AttentionPlan& plan, Heads<const T> q, Heads<const T> k,
                       Heads<const T> v, Heads<T> o, T* lse) {
  const std::int64_t block = block_of(plan), blocks = (plan.T + block - 1) / block;
  const std::int64_t heads = plan.B * plan.H;
  std::vector<KeyHead<T>> shared(static_cast<std::size_t>(plan.B * plan.Hk));
  parallel_for(std::ssize(shared), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t head = begin; head < end; ++head)
      shared[static_cast<std::size_t>(head)] = key_head(plan, k, v, head);
  });
  // Blocks from the last to the first: under a causal mask those are the longest.
  parallel_for(heads * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    Tensor buffer =
        Tensor::empty({kQueries, plan.D + std::min(plan.S, span_of(plan))}, dtype_of<T>);
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t head = item / blocks, b = head / plan.H, h = head % plan.H;
      const std::int64_t i = (blocks - 1 - item % blocks) * block;
      const Range queries{i, std::min(i + block, plan.T)};
      const KeyHead<T>& keys = shared[static_cast<std::size_t>(head / plan.group())];
      if (keys.leaks)
        for (std::int64_t r = queries.first; r < queries.last; ++r)
          forward_row(plan, b, h, r, q, k, v, o, lse);
      else
        forward_block(plan, b, h, queries, q, keys, o, lse, buffer.mutable_data<T>());
    }
  });
}

template void attention_forward(const AttentionPlan&, Heads<const float>, Heads<const float>,
                                Heads<const float>, Heads<float>, float*);
template void attention_forward(const AttentionPlan&, Heads<const double>, Heads<const double>,
                                Heads<const double>, Heads<double>, double*);
}  // namespace gradus::kernel
