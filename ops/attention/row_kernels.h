// What happens to a block of scores between the products, row by row; and attention pair by pair.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gradus/base/simd.h"
#include "gradus/base/vmath.h"
#include "gradus/ops/attention/problem.h"

namespace gradus::kernel {

/// Are rows of n numbers, `stride` apart, finite? x·0 is 0 for finite x only, so a sum tells: of
/// each place in a vector one, which are added up at the end of all rows.
template <class T>
GRADUS_INLINE bool finite_rows(const T* row, std::int64_t stride, std::int64_t rows,
                               std::int64_t n) {
  constexpr std::int64_t kLanes = 64 / sizeof(T);
  T sums[kLanes] = {};
  for (std::int64_t r = 0; r < rows; ++r, row += stride)
    for (std::int64_t j = 0; j < n; j += kLanes)
      if (n - j >= kLanes)
        // equivalent: a 0 of either sign
        for (std::int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += row[j + lane] * T{0};
      else
        // equivalent: a 0 of either sign
        for (std::int64_t lane = 0; lane < n - j; ++lane) sums[lane] += row[j + lane] * T{0};
  return vmath::sum(sums, kLanes) == T{0};
}

/// −∞ where `allowed` [rows, n] is false, in rows of scores `stride` apart.
template <class T>
GRADUS_INLINE void hide_rows(T* scores, std::int64_t stride, std::int64_t rows, std::int64_t n,
                             const bool* allowed) {
  for (std::int64_t r = 0; r < rows; ++r, scores += stride, allowed += n)
    for (std::int64_t j = 0; j < n; ++j) {
      const T score = scores[j];  // read in any case: no branch
      scores[j] = allowed[j] ? score : -std::numeric_limits<T>::infinity();
    }
}

/// One step of a running softmax, for each row of scores [rows, n]: m' = max(m, max s),
/// s = exp(s − m'), l' = l·keep + Σ s, where keep = exp(m − m') is what earlier weights are worth.
/// The maximum may miss a NaN: exp makes one of it all the same.
template <class T>
GRADUS_INLINE void softmax_rows(T* scores, std::int64_t rows, std::int64_t n, T* m, T* l, T* keep) {
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  for (std::int64_t r = 0; r < rows; ++r) {
    T* row = scores + r * n;
    const T highest = vmath::fold_of<T>(
        n, m[r], [=](std::int64_t j) { return row[j]; }, [](T a, T b) { return a < b ? b : a; });
    const T shift = highest == kNone ? T{0} : highest;  // nothing seen yet: exp(−∞) = 0, not NaN
    keep[r] = m[r] == kNone ? T{0} : std::exp(m[r] - shift);
    l[r] = l[r] * keep[r] +
           vmath::sum_of<T>(n, [=](std::int64_t j) { return row[j] = vmath::exp(row[j] - shift); });
    m[r] = highest;
  }
}

template <class T>
GRADUS_INLINE void scale_row(T* row, std::int64_t n, T factor) {
  for (std::int64_t j = 0; j < n; ++j) row[j] *= factor;
}

template <class T>
GRADUS_INLINE void add_row(T* row, const T* more, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) row[j] += more[j];
}

/// What dropout multiplies a row's weights by: `scale`, or 0 where a random word is below.
template <class T>
struct DroppedRow {
  const std::uint32_t* words;
  std::uint32_t threshold;
  T scale;
};

template <class T>
GRADUS_INLINE void drop_row(T* row, std::int64_t n, DroppedRow<T> drop) {
  for (std::int64_t j = 0; j < n; ++j) {
    const T kept = row[j] * drop.scale;
    row[j] = drop.words[j] >= drop.threshold ? kept : T{0};
  }
}

/// d[r] = a[r]·b[r] for rows of n, their rows `a_stride` and `b_stride` apart.
template <class T>
GRADUS_INLINE void dot_rows(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride,
                            std::int64_t rows, std::int64_t n, T* d) {
  for (std::int64_t r = 0; r < rows; ++r) d[r] = vmath::dot(a + r * a_stride, b + r * b_stride, n);
}

/// p = exp(s − lse), ds = p (dp − d). With dropout v was multiplied by p·z.
template <class T>
GRADUS_INLINE void softmax_rows_backward(T* p, T* dp, std::int64_t rows, std::int64_t n,
                                         const T* lse, const T* d) {
  for (std::int64_t r = 0; r < rows; ++r, p += n, dp += n)
    for (std::int64_t j = 0; j < n; ++j) {
      p[j] = vmath::exp(p[j] - lse[r]);
      dp[j] = p[j] * (dp[j] - d[r]);
    }
}

template <class T>
GRADUS_INLINE void dropped_row_backward(T* p, T* dp, std::int64_t n, T lse, T d,
                                        DroppedRow<T> drop) {
  for (std::int64_t j = 0; j < n; ++j) {
    const T weight = vmath::exp(p[j] - lse);
    const T z = drop.words[j] >= drop.threshold ? drop.scale : T{0};
    p[j] = weight * z;
    dp[j] = weight * (dp[j] * z - d);
  }
}

// ---- one pair at a time: for values that are not finite ----

/// The keys that query i may see, their scores, and what dropout multiplies their weights by.
template <class T>
struct PairRow {
  std::vector<std::int64_t> keys;
  std::vector<T> scores, keep;

  PairRow(const AttentionProblem& p, std::int64_t b, std::int64_t h, std::int64_t i,
          const AttentionInputs<T>& x) {
    for (std::int64_t j = 0; j < p.S; ++j) {
      if (!p.mask.allows({b, h, i, j})) continue;
      T score = 0;
      const T *query = x.q.row(b, h, i), *key = x.k.row(b, h / p.group(), j);
      for (std::int64_t c = 0; c < p.D; ++c) score += query[c] * key[c];
      score *= static_cast<T>(p.scale);
      if (p.bias.defined()) {
        const Strides& stride = p.bias.strides();
        score += p.bias.data<T>()[b * stride[0] + h * stride[1] + i * stride[2] + j * stride[3]];
      }
      keys.push_back(j);
      scores.push_back(score);
      const bool kept = p.dropout.keeps(p.index(b, h, i, j));
      keep.push_back(kept ? static_cast<T>(p.dropout.scale) : T{0});
    }
  }
};

template <class T>
void forward_pairs(const AttentionProblem& p, const Block& block, const AttentionInputs<T>& x,
                   const HeadsView<T>& o, T* lse) {
  const std::int64_t b = block.b, h = block.h;
  for (std::int64_t i = block.queries.first; i < block.queries.last; ++i) {
    const PairRow<T> row(p, b, h, i, x);
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    T m = kNone, l = 0;
    // equivalent: of equals any
    for (const T score : row.scores) m = score > m || std::isnan(score) ? score : m;
    for (const T score : row.scores) l += m == kNone ? T{0} : std::exp(score - m);
    T* out = o.row(b, h, i);
    std::fill_n(out, p.Dv, T{0});
    for (std::size_t n = 0; n < row.keys.size(); ++n) {
      const T weight = l == T{0} ? T{0} : std::exp(row.scores[n] - m) / l * row.keep[n];
      if (weight == T{0}) continue;  // dropped, or −∞: as absent as a hidden one
      const T* value = x.v.row(b, h / p.group(), row.keys[n]);
      for (std::int64_t c = 0; c < p.Dv; ++c) out[c] += weight * value[c];
    }
    lse[(b * p.H + h) * p.T + i] = m + std::log(l);
  }
}

/// Adds to dk and dv, and overwrites dq.
template <class T>
void backward_pairs(const AttentionProblem& p, const Block& block, const AttentionInputs<T>& x,
                    const AttentionGradients<T>& g) {
  const std::int64_t b = block.b, h = block.h, hk = h / p.group();
  for (std::int64_t i = block.queries.first; i < block.queries.last; ++i) {
    const PairRow<T> row(p, b, h, i, x);
    const T log_sum = g.lse[(b * p.H + h) * p.T + i];
    const T *dout = g.dout.row(b, h, i), *q = x.q.row(b, h, i);
    std::vector<T> weight(row.keys.size()), dp(row.keys.size());
    T d = 0;
    for (std::size_t n = 0; n < weight.size(); ++n) {
      weight[n] = std::isinf(log_sum) ? T{0} : std::exp(row.scores[n] - log_sum);
      if (weight[n] == T{0}) continue;
      const T* v = x.v.row(b, hk, row.keys[n]);
      for (std::int64_t c = 0; c < p.Dv; ++c) dp[n] += dout[c] * v[c] * row.keep[n];
      for (std::int64_t c = 0; g.dv.data && c < p.Dv; ++c)
        g.dv.row(b, hk, row.keys[n])[c] += weight[n] * row.keep[n] * dout[c];
      d += weight[n] * dp[n];
    }
    if (g.dq.data) std::fill_n(g.dq.row(b, h, i), p.D, T{0});
    for (std::size_t n = 0; n < weight.size(); ++n) {
      if (weight[n] == T{0}) continue;
      const T ds = weight[n] * (dp[n] - d) * static_cast<T>(p.scale);
      const T* k = x.k.row(b, hk, row.keys[n]);
      for (std::int64_t c = 0; g.dq.data && c < p.D; ++c) g.dq.row(b, h, i)[c] += ds * k[c];
      for (std::int64_t c = 0; g.dk.data && c < p.D; ++c)
        g.dk.row(b, hk, row.keys[n])[c] += ds * q[c];
    }
  }
}

}  // namespace gradus::kernel
