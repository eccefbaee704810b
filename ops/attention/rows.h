// Attention one allowed pair at a time: the way of blocks that meet a NaN or an infinity while a
// mask hides something. Slow, and nothing leaks: what is hidden is never read.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gradus/base/vmath.h"
#include "gradus/ops/attention/kernel.h"

namespace gradus::kernel {

/// x·0 is 0 for finite x only, so the sum tells.
template <class T>
GRADUS_INLINE bool finite_row(const T* row, std::int64_t n) {
  return vmath::sum_of<T>(n, [=](std::int64_t j) { return row[j] * T{0}; }) == T{0};
}

template <class T>
bool all_finite(const T* x, std::int64_t row, std::int64_t rows, std::int64_t width) {
  for (std::int64_t r = 0; r < rows; ++r)
    if (!simd::run<finite_row<T>>(x + r * row, width)) return false;
  return true;
}

/// The keys that query i may see, their scores, and what dropout multiplies their weights by.
template <class T>
struct Row {
  std::vector<std::int64_t> keys;
  std::vector<T> scores, keep;

  Row(const AttentionPlan& plan, std::int64_t b, std::int64_t h, std::int64_t i, Heads<const T> q,
      Heads<const T> k) {
    for (std::int64_t j = 0; j < plan.S; ++j) {
      if (!plan.mask.allows({b, h, i, j})) continue;
      T score = 0;
      const T *query = q.at(b, h, i), *key = k.at(b, h / plan.group(), j);
      for (std::int64_t c = 0; c < plan.D; ++c) score += query[c] * key[c];
      score *= static_cast<T>(plan.scale);
      if (plan.bias.defined()) {
        const Strides& step = plan.bias.strides();
        score += plan.bias.data<T>()[b * step[0] + h * step[1] + i * step[2] + j * step[3]];
      }
      const std::int64_t index = ((b * plan.H + h) * plan.T + i) * plan.S + j;
      keys.push_back(j), scores.push_back(score);
      const bool kept = !plan.dropout.threshold || plan.dropout.keeps(index);
      keep.push_back(!plan.dropout.threshold ? T{1}
                     : kept                  ? static_cast<T>(plan.dropout.scale)
                                             : T{0});
    }
  }
};

template <class T>
void forward_row(const AttentionPlan& plan, std::int64_t b, std::int64_t h, std::int64_t i,
                 Heads<const T> q, Heads<const T> k, Heads<const T> v, Heads<T> o, T* lse) {
  const Row<T> row(plan, b, h, i, q, k);
  T m = -std::numeric_limits<T>::infinity(), l = 0;
  for (const T score : row.scores) m = score > m || std::isnan(score) ? score : m;
  T* out = o.at(b, h, i);
  for (std::int64_t c = 0; c < plan.Dv; ++c) out[c] = 0;
  for (const T score : row.scores) l += std::isinf(m) && m < 0 ? T{0} : std::exp(score - m);
  for (std::size_t n = 0; n < row.keys.size(); ++n) {
    const T weight = l == T{0} ? T{0} : std::exp(row.scores[n] - m) / l * row.keep[n];
    if (weight == T{0}) continue;  // dropped, or −∞: as absent as a hidden one
    const T* value = v.at(b, h / plan.group(), row.keys[n]);
    for (std::int64_t c = 0; c < plan.Dv; ++c) out[c] += weight * value[c];
  }
  lse[(b * plan.H + h) * plan.T + i] = m + std::log(l);
}

/// Queries [first, last) backward; adds to dk and dv. A gradient without data is not wanted.
template <class T>
void rows_backward(const AttentionPlan& plan, std::int64_t b, std::int64_t h, std::int64_t first,
                   std::int64_t last, const BackwardHeads<T>& x, const Rows<T>& dk,
                   const Rows<T>& dv) {
  const std::int64_t hk = h / plan.group();
  for (std::int64_t i = first; i < last; ++i) {
    const Row<T> row(plan, b, h, i, x.q, x.k);
    const T log_sum = x.lse[(b * plan.H + h) * plan.T + i];
    const T *dout = x.dout.at(b, h, i), *q = x.q.at(b, h, i);
    std::vector<T> p(row.keys.size()), dp(row.keys.size());
    T d = 0;
    for (std::size_t n = 0; n < p.size(); ++n) {
      p[n] = std::isinf(log_sum) ? T{0} : std::exp(row.scores[n] - log_sum);
      if (p[n] == T{0}) continue;
      const T* v = x.v.at(b, hk, row.keys[n]);
      for (std::int64_t c = 0; c < plan.Dv; ++c) dp[n] += dout[c] * v[c] * row.keep[n];
      for (std::int64_t c = 0; dv.data && c < plan.Dv; ++c)
        dv.at(row.keys[n])[c] += p[n] * row.keep[n] * dout[c];
      d += p[n] * dp[n];
    }
    if (x.dq.data) std::fill_n(x.dq.at(b, h, i), plan.D, T{0});
    for (std::size_t n = 0; n < p.size(); ++n) {
      if (p[n] == T{0}) continue;
      const T ds = p[n] * (dp[n] - d) * static_cast<T>(plan.scale);
      const T* k = x.k.at(b, hk, row.keys[n]);
      for (std::int64_t c = 0; x.dq.data && c < plan.D; ++c) x.dq.at(b, h, i)[c] += ds * k[c];
      for (std::int64_t c = 0; dk.data && c < plan.D; ++c) dk.at(row.keys[n])[c] += ds * q[c];
    }
  }
}

}  // namespace gradus::kernel
