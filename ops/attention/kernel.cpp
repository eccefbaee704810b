// Attention in tiles (after Dao et al. 2022; Milakov & Gimelshein 2018 for the running maximum).
// Forward, for a block of queries and each span (range) of visible keys:
//
//   s = q kᵀ · scale + bias   m' = max(m, max s)        p = exp(s − m')
//   l = l·exp(m − m') + Σ p   o = o·exp(m − m') + p v   at the end: o / l, lse = m + log l
//
// Backward, with d = Σ dout·o for each query (which is Σ p·dp):
//
//   p = exp(s − lse)          dv += pᵀ dout             dp = dout vᵀ
//   ds = p (dp − d) · scale   dq += ds k                dk += dsᵀ q
//
// Hidden spans and padding are skipped. In spans that are partly hidden, hidden scores become −∞
// and their weights 0. A query without visible keys has output 0 and gradient 0.
#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/transpose.h"
#include "gradus/engine/gemm/multiply.h"
#include "gradus/ops/attention/row_kernels.h"
#include "gradus/ops/attention/tiling.h"

namespace gradus::kernel {

using gemm::Matrix;
using gemm::multiply;
using gemm::Stride;

namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

template <class T>
void clear(const Matrix<T>& x) {
  for (std::int64_t r = 0; r < x.rows; ++r) std::fill_n(x.at(r, 0), x.columns, T{0});
}

// ---- scores ----

template <class T>
void hide(const AttentionProblem& p, const QueryBlock& block, Range keys, T* scores) {
  const Range queries = block.queries;
  const auto coverage = [&](std::int64_t first, std::int64_t last) {
    return p.mask.coverage({block.b, block.h, queries.first, queries.last, first, last});
  };
  if (coverage(keys.first, keys.last) == Coverage::all) return;  // fast path
  bool allowed[kMaxQueries * kTile];
  for (std::int64_t key = keys.first; key < keys.last; key += kTile) {
    const std::int64_t n = std::min(kTile, keys.last - key);
    if (coverage(key, key + n) == Coverage::all) continue;
    bool* row = allowed;
    for (std::int64_t i = queries.first; i < queries.last; ++i, row += n)
      p.mask.row({block.b, block.h, i, key}, n, row);
    simd::run<hide_rows<T>>(scores + (key - keys.first), keys.size(), queries.size(), n, allowed);
  }
}

template <class T>
void add_bias(const AttentionProblem& p, const QueryBlock& block, Range keys, T* scores) {
  const Strides& stride = p.bias.strides();
  const T* first = p.bias.data<T>() + block.b * stride[0] + block.h * stride[1];
  for (std::int64_t i = block.queries.first; i < block.queries.last; ++i, scores += keys.size())
    for (std::int64_t j = 0; j < keys.size(); ++j)
      scores[j] += first[i * stride[2] + (keys.first + j) * stride[3]];
}

/// Computes q kᵀ · scale + bias, −∞ where hidden. kt [D, keys] may have any layout.
template <class T>
void compute_scores(const AttentionProblem& p, const QueryBlock& block, Range keys,
                    const Matrix<const T>& q, const Matrix<const T>& kt, T* scores) {
  multiply(Matrix<T>(scores, q.rows, keys.size()), q, kt, {.alpha = static_cast<T>(p.scale)});
  if (p.bias.defined()) add_bias(p, block, keys, scores);
  hide(p, block, keys, scores);
}

template <class T>
DroppedRow<T> draw(const AttentionProblem& p, const QueryBlock& block, std::int64_t row, Range keys,
                   std::uint32_t* words) {
  const std::int64_t i = block.queries.first + row;
  p.dropout.stream.words(p.index(block.b, block.h, i, keys.first), keys.size(), words);
  return {words, p.dropout.threshold, static_cast<T>(p.dropout.scale)};
}

// ---- forward ----

/// kᵀ [D, S] and v [S, Dv] of a key head, packed or in place, shared by all blocks.
template <class T>
struct KeyHead {
  Tensor packed;
  Matrix<const T> kt, v;
};

template <class T>
KeyHead<T> key_head(const AttentionProblem& p, const AttentionInputs<T>& x, std::int64_t b,
                    std::int64_t h) {
  const Matrix<const T> k = x.k.rows(b, h, {0, p.S}), v = x.v.rows(b, h, {0, p.S});
  if (p.T <= kFewQueries) return {{}, k.transpose(), v};
  const std::int64_t stride = padded_stride(p.S);
  Tensor packed = Tensor::empty({p.D * stride + p.S * p.Dv}, dtype_of<T>);
  T *kt = packed.mutable_data<T>(), *values = kt + p.D * stride;
  for (std::int64_t first = 0; first < p.S; first += kMaxSpan) {  // in cache-sized chunks
    const std::int64_t n = std::min(kMaxSpan, p.S - first);
    simd::run<transpose<T>>(k.at(first, 0), k.stride, n, p.D, kt + first, stride);
    copy_rows(v.at(first, 0), v.stride, n, p.Dv, values + first * p.Dv, p.Dv);
  }
  return {packed, {kt, p.D, p.S, Stride{stride}}, {values, p.S, p.Dv}};
}

/// Divides each row of o by its sum of weights, or sets it to 0 for a query without visible keys.
template <class T>
void finish_rows(const Matrix<T>& o, const T* m, const T* l, T* lse) {
  for (std::int64_t r = 0; r < o.rows; ++r) {
    if (l[r] == T{0})
      std::fill_n(o.at(r, 0), o.columns, T{0});
    else
      simd::run<scale_row<T>>(o.at(r, 0), o.columns, T{1} / l[r]);
    lse[r] = m[r] + vmath::log(l[r]);
  }
}

template <class T>
void forward_block(const AttentionProblem& p, const QueryBlock& block, const AttentionInputs<T>& x,
                   const KeyHead<T>& head, const Matrix<T>& o, T* lse, T* buffer) {
  const std::int64_t rows = o.rows;
  T *packed = buffer, *scores = packed + kMaxQueries * p.D;
  copy_rows(x.q.row(block.b, block.h, block.queries.first), x.q.row_stride, rows, p.D, packed, p.D);
  fetch_rows(o.data, o.stride, rows, p.Dv);
  T m[kMaxQueries], l[kMaxQueries], keep[kMaxQueries];
  std::uint32_t words[kMaxSpan];
  std::fill_n(m, rows, static_cast<T>(kHidden));
  std::fill_n(l, rows, T{0});
  bool first = true;
  for (const Range& keys : visible_spans(p, block)) {
    const std::int64_t n = keys.size();
    compute_scores(p, block, keys, {packed, rows, p.D}, head.kt.column_range(keys.first, keys.last),
                   scores);
    simd::run<online_softmax_rows<T>>(scores, rows, n, m, l, keep);
    for (std::int64_t r = 0; r < rows; ++r) {
      if (p.dropout.threshold)
        simd::run<drop_row<T>>(scores + r * n, n, draw<T>(p, block, r, keys, words));
      if (!first && keep[r] != T{1}) simd::run<scale_row<T>>(o.at(r, 0), p.Dv, keep[r]);
    }
    multiply(o, {scores, rows, n}, head.v.row_range(keys.first, keys.last),
             {.beta = first ? T{0} : T{1}});
    first = false;
  }
  finish_rows(o, m, l, lse + (block.b * p.H + block.h) * p.T + block.queries.first);
}

}  // namespace

template <class T>
void attention_forward(const AttentionProblem& p, const AttentionInputs<T>& x,
                       const HeadsView<T>& o, T* lse) {
  const std::int64_t size = block_size(p);
  const std::int64_t blocks = (p.T + size - 1) / size;
  std::vector<KeyHead<T>> shared(static_cast<std::size_t>(p.B * p.Hk));
  parallel_for(std::ssize(shared), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n)
      shared[static_cast<std::size_t>(n)] = key_head(p, x, n / p.Hk, n % p.Hk);
  });
  // Start with the last blocks, because under a causal mask they take longest.
  parallel_for(p.B * p.H * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t width = p.D + std::min(p.S, span_size(p));
    Tensor buffer = Tensor::empty({kMaxQueries, width}, dtype_of<T>);
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t head = item / blocks, first = (blocks - 1 - item % blocks) * size;
      const QueryBlock block{head / p.H, head % p.H, {first, std::min(first + size, p.T)}};
      const Matrix<T> rows = o.rows(block.b, block.h, block.queries);
      const KeyHead<T>& keys = shared[static_cast<std::size_t>(head / p.group())];
      forward_block(p, block, x, keys, rows, lse, buffer.mutable_data<T>());
    }
  });
}

// ---- backward ----

namespace {

/// Buffers of one Part (tiling.h). dk and dv have dense rows to avoid cache-set conflicts.
template <class T>
struct PartBuffers {
  Tensor memory, sums;
  Matrix<T> kt, vt, k;  // keys and values of the part
  Matrix<T> q, dout;    // one block of queries
  T *p, *dp;            // weights and their gradients for one block
  Matrix<T> dk, dv;     // `data` is null if not needed
  std::int64_t first;   // first key

  PartBuffers(const AttentionProblem& x, Range keys, bool dk_wanted, bool dv_wanted)
      : first(keys.first) {
    const std::int64_t n = keys.size(), stride = padded_stride(n);
    const std::int64_t tile = kMaxQueries * std::min(n, span_size(x)), width = x.D + x.Dv;
    const std::int64_t numbers = width * (stride + kMaxQueries) + n * x.D + 2 * tile;
    memory = Tensor::empty({numbers}, dtype_of<T>);
    sums = Tensor::empty({n * width}, dtype_of<T>);
    T* at = memory.mutable_data<T>();
    const auto take = [&](std::int64_t rows, std::int64_t columns, std::int64_t row_stride) {
      const Matrix<T> matrix(at, rows, columns, Stride{row_stride});
      at += rows * row_stride;
      return matrix;
    };
    kt = take(x.D, n, stride);
    vt = take(x.Dv, n, stride);
    k = take(n, x.D, x.D);
    q = take(kMaxQueries, x.D, x.D);
    dout = take(kMaxQueries, x.Dv, x.Dv);
    p = take(1, tile, tile).data;
    dp = take(1, tile, tile).data;
    at = sums.mutable_data<T>();
    if (dk_wanted) dk = take(n, x.D, x.D);
    if (dv_wanted) dv = take(n, x.Dv, x.Dv);
  }
};

/// Processes one block of queries and one span of keys. Adds to dq.
template <class T>
void backward_tile(const AttentionProblem& p, const QueryBlock& block, Range keys,
                   const PartBuffers<T>& part, const T* lse, const T* d, const Matrix<T>& dq) {
  const std::int64_t rows = block.queries.size(), n = keys.size(), first = keys.first - part.first,
                     last = keys.last - part.first;
  const T scale = static_cast<T>(p.scale);
  const Matrix<const T> q(part.q.data, rows, p.D), dout(part.dout.data, rows, p.Dv);
  compute_scores<T>(p, block, keys, q, part.kt.column_range(first, last), part.p);
  multiply(Matrix<T>(part.dp, rows, n), dout, part.vt.column_range(first, last));
  std::uint32_t words[kMaxSpan];
  for (std::int64_t r = 0; r < rows && p.dropout.threshold; ++r)
    simd::run<dropped_row_backward<T>>(part.p + r * n, part.dp + r * n, n, lse[r], d[r],
                                       draw<T>(p, block, r, keys, words));
  if (!p.dropout.threshold)
    simd::run<online_softmax_rows_backward<T>>(part.p, part.dp, rows, n, lse, d);
  const Matrix<const T> weights(part.p, rows, n), ds(part.dp, rows, n);
  if (part.dv.data)
    multiply(part.dv.row_range(first, last), weights.transpose(), dout, {.beta = 1});
  if (part.dk.data)
    multiply(part.dk.row_range(first, last), ds.transpose(), q, {.alpha = scale, .beta = 1});
  if (dq.data) multiply(dq, ds, part.k.row_range(first, last), {.alpha = scale, .beta = 1});
}

template <class T>
void backward_block(const AttentionProblem& p, const QueryBlock& block, const AttentionInputs<T>& x,
                    const AttentionGradients<T>& g, const PartBuffers<T>& part) {
  const std::int64_t b = block.b, h = block.h, i = block.queries.first, rows = block.queries.size();
  const Matrix<T> dq = g.dq.rows(b, h, block.queries);
  clear(dq);
  copy_rows(x.q.row(b, h, i), x.q.row_stride, rows, p.D, part.q.data, p.D);
  copy_rows(g.dout.row(b, h, i), g.dout.row_stride, rows, p.Dv, part.dout.data, p.Dv);
  T lse[kMaxQueries], d[kMaxQueries];
  const T* sums = g.lse + (b * p.H + h) * p.T + i;
  const auto sees_nothing = [&](std::int64_t r) { return sums[r] == static_cast<T>(kHidden); };
  for (std::int64_t r = 0; r < rows; ++r) {
    lse[r] = sees_nothing(r) ? T{0} : sums[r];  // scores are −∞: p = exp(−∞ − 0) = 0
    if (!sees_nothing(r)) continue;
    // These weights are 0, but 0 · NaN would propagate to dk and dv.
    std::fill_n(part.q.at(r, 0), p.D, T{0});
    std::fill_n(part.dout.at(r, 0), p.Dv, T{0});
  }
  simd::run<dot_rows<T>>(part.dout.data, p.Dv, g.o.row(b, h, i), g.o.row_stride, rows, p.Dv, d);
  for (const Range& keys : visible_spans(p, block)) backward_tile(p, block, keys, part, lse, d, dq);
  for (std::int64_t r = 0; r < rows; ++r)
    if (sees_nothing(r)) std::fill_n(dq.at(r, 0), dq.columns, T{0});
}

template <class T>
void backward_part(const AttentionProblem& p, const Part& part, const AttentionInputs<T>& x,
                   const AttentionGradients<T>& g, const PartBuffers<T>& buffers) {
  clear(buffers.dk);
  clear(buffers.dv);
  const Matrix<const T> k = x.k.rows(part.b, part.hk, part.keys),
                        v = x.v.rows(part.b, part.hk, part.keys);
  for (std::int64_t i = 0; i < k.rows; i += kMaxSpan) {  // in cache-sized chunks
    const std::int64_t n = std::min(kMaxSpan, k.rows - i);
    copy_rows(k.at(i, 0), k.stride, n, p.D, buffers.k.at(i, 0), p.D);
    simd::run<transpose<T>>(k.at(i, 0), k.stride, n, p.D, buffers.kt.at(0, i), buffers.kt.stride);
    simd::run<transpose<T>>(v.at(i, 0), v.stride, n, p.Dv, buffers.vt.at(0, i), buffers.vt.stride);
  }
  for (std::int64_t item = part.first; item < part.last; ++item)
    backward_block(p, block_of(p, part, item), x, g, buffers);
}

/// Writes a Part's sums to `to`, which has all keys of the head. The first Part of a head also
/// clears the rows outside `keys`; the others add their sums. Unneeded gradients have no columns.
template <class T>
void write_sums(const Matrix<T>& to, const Matrix<T>& sums, Range keys, bool first) {
  if (first) {
    clear(to.row_range(0, keys.first));
    clear(to.row_range(keys.last, to.rows));
    copy_rows(sums.data, sums.stride, keys.size(), to.columns, to.at(keys.first, 0), to.stride);
  } else {
    for (std::int64_t r = 0; r < keys.size(); ++r)
      simd::run<add_row<T>>(to.at(keys.first + r, 0), sums.at(r, 0), to.columns);
  }
}

}  // namespace

template <class T>
void attention_backward(const AttentionProblem& p, const AttentionInputs<T>& x,
                        const AttentionGradients<T>& g) {
  const std::vector<Part> parts = parts_of(p);
  const std::int64_t heads = p.B * p.Hk;
  const std::size_t each =
      parts.size() / static_cast<std::size_t>(std::max<std::int64_t>(heads, 1));
  std::vector<std::unique_ptr<PartBuffers<T>>> buffers(parts.size());
  const auto finish = [&](std::size_t i) {  // called in order within a head
    const Part& part = parts[i];
    write_sums(g.dk.rows(part.b, part.hk, {0, p.S}), buffers[i]->dk, part.keys, i % each == 0);
    write_sums(g.dv.rows(part.b, part.hk, {0, p.S}), buffers[i]->dv, part.keys, i % each == 0);
    buffers[i].reset();
  };
  parallel_for(std::ssize(parts), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      buffers[i] = std::make_unique<PartBuffers<T>>(p, parts[i].keys, g.dk.data, g.dv.data);
      backward_part(p, parts[i], x, g, *buffers[i]);
      buffers[i]->memory = {};  // keeps only the sums
      if (i % each == 0) finish(i);
    }
  });
  if (each > 1)
    parallel_for(heads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto head = static_cast<std::size_t>(begin); head < static_cast<std::size_t>(end);
           ++head)
        for (std::size_t i = 1; i < each; ++i) finish(head * each + i);
    });
}

template void attention_forward(const AttentionProblem&, const AttentionInputs<float>&,
                                const HeadsView<float>&, float*);
template void attention_forward(const AttentionProblem&, const AttentionInputs<double>&,
                                const HeadsView<double>&, double*);
template void attention_backward(const AttentionProblem&, const AttentionInputs<float>&,
                                 const AttentionGradients<float>&);
template void attention_backward(const AttentionProblem&, const AttentionInputs<double>&,
                                 const AttentionGradients<double>&);

}  // namespace gradus::kernel
