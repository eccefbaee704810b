// Attention backward in tiles (after Dao et al. 2022), for a block of queries and each span of keys
// that it may see, with d = Σ dout·o for each query (which is Σ p·dp):
//
//   p = exp(s − lse)          dv += pᵀ dout             dp = dout vᵀ
//   ds = p (dp − d) · scale   dq += ds k                dk += dsᵀ q
//
// Blocks of queries add to the same dk and dv, so those of one key head go one after the other,
// with each query head that it serves. Where there are few heads, parts of such a sequence go side
// by side (parts.h). Each part has sums of its own, their rows side by side: a power of
// two apart, as in the gradient of a projection, they would drive each other out of the cache. The
// first part's are dk and dv, to which the others' are added in order at the end.
#include <algorithm>
#include <cmath>
#include <vector>

#include "gradus/base/parallel.h"
#include "gradus/base/transpose.h"
#include "gradus/ops/attention/parts.h"
#include "gradus/ops/attention/rows.h"

namespace gradus::kernel {
namespace {

/// What the items of one part share.
template <class T>
struct PartBackward {
  Columns<T> kt, vt;
  Rows<T> k;
  T *p, *dp;    // a block of scores
  T *q, *dout;  // of a block of queries, their rows side by side
  Rows<T> dk, dv;
};

/// One block of queries against one span of keys, backward. `lse` and `d` are of each query.
template <class T>
void backward_tile(const AttentionPlan& plan, std::int64_t b, std::int64_t h, Range queries,
                   Range keys, const BackwardHeads<T>& x, const PartBackward<T>& part, const T* lse,
                   const T* d, bool first) {
  std::uint32_t words[kSpan];
  T *p = part.p, *dp = part.dp;
  const std::int64_t rows = queries.size(), n = keys.size();
  const T scale = static_cast<T>(plan.scale);
  compute_scores(plan, b, h, queries, keys, part.q, part.kt, p);
  const Matrix<const T> weights(p, rows, n), dscores(dp, rows, n), q(part.q, rows, plan.D),
      dout(part.dout, rows, plan.Dv);
  multiply(Matrix<T>(dp, rows, n), dout, {part.vt.at(keys.first), plan.Dv, n, Stride{part.vt.row}});
  if (plan.dropout.threshold)
    for (std::int64_t r = 0; r < rows; ++r)
      simd::run<dropped_row_backward<T>>(
          p + r * n, dp + r * n, n, lse[r], d[r], draw(plan, b, h, queries.first + r, keys, words),
          plan.dropout.threshold, static_cast<T>(plan.dropout.scale));
  else
    simd::run<weights_rows_backward<T>>(p, dp, rows, n, lse, d);
  if (part.dv.data)
    multiply(Matrix<T>(part.dv.at(keys.first), n, plan.Dv, Stride{part.dv.row}),
             weights.transpose(), dout, {.beta = 1});
  if (part.dk.data)
    multiply(Matrix<T>(part.dk.at(keys.first), n, plan.D, Stride{part.dk.row}), dscores.transpose(),
             q, {.alpha = scale, .beta = 1});
  if (x.dq.data)
    multiply(Matrix<T>(x.dq.at(b, h, queries.first), rows, plan.D, Stride{x.dq.row}), dscores,
             {part.k.at(keys.first), n, plan.D, Stride{part.k.row}},
             {.alpha = scale, .beta = first ? T{0} : T{1}});
}

/// One block of queries, packed, backward.
template <class T>
void backward_block(const AttentionPlan& plan, std::int64_t b, std::int64_t h, Range queries,
                    const BackwardHeads<T>& x, const PartBackward<T>& part) {
  T lse[kQueries], d[kQueries];
  if (x.dq.data) fetch_rows(x.dq.at(b, h, queries.first), x.dq.row, queries.size(), plan.D);
  const T* sums = x.lse + (b * plan.H + h) * plan.T;
  // A row without keys has lse −∞: all its scores are −∞ too, and 0 makes p = exp(−∞) = 0 of them.
  std::transform(sums + queries.first, sums + queries.last, lse,
                 [](T value) { return std::isinf(value) ? T{0} : value; });
  simd::run<dot_rows<T>>(x.dout.at(b, h, queries.first), x.dout.row, x.o.at(b, h, queries.first),
                         x.o.row, queries.size(), plan.Dv, d);
  const std::vector<Range> spans = visible_spans(plan, b, h, queries);
  for (const Range& keys : spans)
    backward_tile(plan, b, h, queries, keys, x, part, lse, d, &keys == &spans.front());
  for (std::int64_t r = queries.first; spans.empty() && x.dq.data && r < queries.last; ++r)
    std::fill_n(x.dq.at(b, h, r), plan.D, T{0});
}

template <class T>
void clear(const Rows<T>& x, Range rows, std::int64_t width) {
  for (std::int64_t r = rows.first; x.data && r < rows.last; ++r) std::fill_n(x.at(r), width, T{0});
}

template <class T>
void backward_part(const AttentionPlan& plan, const Part& part, const BackwardHeads<T>& x,
                   const Rows<T>& dk, const Rows<T>& dv) {
  clear(dk, part.keys, plan.D), clear(dv, part.keys, plan.Dv);
  const std::int64_t first = part.keys.first, n = part.keys.size(), apart = columns_apart(n);
  const std::int64_t tile = kQueries * std::min(n, span_of(plan));
  Tensor buffer =
      Tensor::empty({2 * tile + (plan.D + plan.Dv) * (apart + kQueries) + n * plan.D}, dtype_of<T>);
  T *p = buffer.mutable_data<T>(), *dp = p + tile, *kt = dp + tile, *vt = kt + plan.D * apart;
  T *k = vt + plan.Dv * apart, *q = k + n * plan.D, *dout = q + kQueries * plan.D;
  bool leaks = false;
  for (std::int64_t i = 0; i < n; i += kSpan) {  // what is read once stays near
    const std::int64_t rows = std::min(kSpan, n - i);
    const T *keys = x.k.at(part.b, part.hk, first + i),
            *values = x.v.at(part.b, part.hk, first + i);
    copy_rows(keys, x.k.row, rows, plan.D, k + i * plan.D, plan.D);
    simd::run<transpose<T>>(keys, x.k.row, rows, plan.D, kt + i, apart);
    simd::run<transpose<T>>(values, x.v.row, rows, plan.Dv, vt + i, apart);
    leaks |= plan.hides && !(simd::run<finite_row<T>>(k + i * plan.D, rows * plan.D) &&
                             all_finite(vt + i, apart, plan.Dv, rows));
  }
  const PartBackward<T> shared{
      {kt, first, apart}, {vt, first, apart}, {k, first, plan.D}, p, dp, q, dout, dk, dv};
  for (std::int64_t item = part.first; item < part.last; ++item) {
    const std::int64_t h = part.hk * plan.group() + item % plan.group();
    const Range queries = queries_of(plan, item);
    const std::int64_t i = queries.first, rows = queries.size();
    copy_rows(x.q.at(part.b, h, i), x.q.row, rows, plan.D, q, plan.D);
    copy_rows(x.dout.at(part.b, h, i), x.dout.row, rows, plan.Dv, dout, plan.Dv);
    if (leaks || (plan.hides && !(simd::run<finite_row<T>>(q, rows * plan.D) &&
                                  simd::run<finite_row<T>>(dout, rows * plan.Dv))))
      rows_backward(plan, part.b, h, queries.first, queries.last, x, dk, dv);
    else
      backward_block(plan, part.b, h, queries, x, shared);
  }
}

/// The sums of a head's first part, where they belong, and 0 beside them.
template <class T>
void copy_out(const Rows<T>& sums, const Heads<T>& to, const Part& part, std::int64_t S,
              std::int64_t width) {
  if (!to.data) return;
  const Rows<T> rows{to.at(part.b, part.hk, 0), 0, to.row};
  clear(rows, {0, part.keys.first}, width), clear(rows, {part.keys.last, S}, width);
  copy_rows(sums.data, sums.row, part.keys.size(), width, rows.at(part.keys.first), rows.row);
}

/// Adds the sums of the parts that are not a head's first, in their order.
template <class T>
void add_sums(const std::vector<Part>& parts, const std::vector<Rows<T>>& sums, std::int64_t S,
              const Heads<T>& to, std::int64_t width) {
  if (!to.data) return;
  parallel_for(S, kSpan, [&](std::int64_t begin, std::int64_t end) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Part& part = parts[i];
      if (part.first == 0) continue;
      const std::int64_t last = std::min(end, part.keys.last);
      for (std::int64_t r = std::max(begin, part.keys.first); r < last; ++r)
        simd::run<add_row<T>>(to.at(part.b, part.hk, r), sums[i].at(r), width);
    }
  });
}

}  // namespace

template <class T>
void attention_backward(const AttentionPlan& plan, const BackwardHeads<T>& x) {
  const std::vector<Part> parts = parts_of(plan);
  std::vector<Tensor> buffers(parts.size());
  std::vector<Rows<T>> dk(parts.size()), dv(parts.size());
  parallel_for(std::ssize(parts), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const Part& part = parts[i];
      const Range keys = part.keys;
      buffers[i] = Tensor::empty({keys.size() * (plan.D + plan.Dv)}, dtype_of<T>);
      T* sums = buffers[i].mutable_data<T>();
      if (x.dk.data) dk[i] = {sums, keys.first, plan.D};
      if (x.dv.data) dv[i] = {sums + keys.size() * plan.D, keys.first, plan.Dv};
      backward_part(plan, part, x, dk[i], dv[i]);
      if (part.first > 0) continue;
      copy_out(dk[i], x.dk, part, plan.S, plan.D), copy_out(dv[i], x.dv, part, plan.S, plan.Dv);
      buffers[i] = {};
    }
  });
  if (std::ssize(parts) == plan.B * plan.Hk) return;
  add_sums(parts, dk, plan.S, x.dk, plan.D), add_sums(parts, dv, plan.S, x.dv, plan.Dv);
}

template void attention_backward(const AttentionPlan&, const BackwardHeads<float>&);
template void attention_backward(const AttentionPlan&, const BackwardHeads<double>&);

}  // namespace gradus::kernel
