// Reference implementations of layers: plain loops over row-major lists of any T, without Gradus
// ops.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <type_traits>
#include <vector>

#include "gradus/engine/tensor.h"
#include "gradus/tests/support/numbers.h"
#include "gradus/tests/support/reference.h"

namespace gradus::testing::naive {

using testing::numbers;
using testing::Numbers;

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class T>
const List<T>& numbers(const Argument<T>& x) {
  return x.values;
}

/// [rows, columns] → [columns, rows]
template <class T>
List<T> transpose(const List<T>& x, std::int64_t rows, std::int64_t columns) {
  List<T> y(x.size());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) y[at(j * rows + i)] = x[at(i * columns + j)];
  return y;
}

/// a [..., m, k] · b [..., k, n], leading axes broadcast. a and b have rank ≥ 2.
template <class T>
List<T> matmul(const List<T>& a, Sizes a_sizes, const List<T>& b, Sizes b_sizes) {
  while (a_sizes.size() < b_sizes.size()) a_sizes.insert(a_sizes.begin(), 1);
  while (b_sizes.size() < a_sizes.size()) b_sizes.insert(b_sizes.begin(), 1);
  const std::size_t rank = a_sizes.size();
  const std::int64_t m = a_sizes[rank - 2], k = a_sizes[rank - 1], n = b_sizes[rank - 1];
  std::int64_t batches = 1;
  for (std::size_t d = 0; d + 2 < rank; ++d) batches *= a_sizes[d] == 1 ? b_sizes[d] : a_sizes[d];
  List<T> c;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    std::int64_t rest = batch, ia = 0, ib = 0, step_a = 1, step_b = 1;
    for (std::size_t d = rank - 2; d-- > 0;) {
      const std::int64_t size = a_sizes[d] == 1 ? b_sizes[d] : a_sizes[d];
      const std::int64_t i = rest % size;
      rest /= size;
      if (a_sizes[d] != 1) ia += i * step_a;
      if (b_sizes[d] != 1) ib += i * step_b;
      step_a *= a_sizes[d], step_b *= b_sizes[d];
    }
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        T sum = 0;
        for (std::int64_t p = 0; p < k; ++p)
          sum += a[at((ia * m + i) * k + p)] * b[at((ib * k + p) * n + j)];
        c.push_back(sum);
      }
  }
  return c;
}

/// x [rows, in] · wᵀ + b, with w [out, in]; b may be empty.
template <class T>
List<T> affine(const List<T>& x, std::int64_t in, const List<T>& w,
               const std::type_identity_t<List<T>>& b) {
  const std::int64_t rows = std::ssize(x) / in, out = std::ssize(w) / in;
  List<T> y;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t o = 0; o < out; ++o) {
      T sum = b.empty() ? T(0) : b[at(o)];
      for (std::int64_t i = 0; i < in; ++i) sum += x[at(r * in + i)] * w[at(o * in + i)];
      y.push_back(sum);
    }
  return y;
}

template <class T>
List<T> plus(List<T> x, const List<T>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  return x;
}

/// (x − mean) / √(variance + eps) · w + b for each row
template <class T>
List<T> layer_norm(const List<T>& x, std::int64_t n, const List<T>& w, const List<T>& b,
                   double eps = 1e-5) {
  List<T> y;
  for (std::int64_t r = 0; r < std::ssize(x) / n; ++r) {
    T mean = 0, variance = 0;
    for (std::int64_t i = 0; i < n; ++i) mean += x[at(r * n + i)];
    mean /= static_cast<double>(n);
    for (std::int64_t i = 0; i < n; ++i) {
      const T d = x[at(r * n + i)] - mean;
      variance += d * d;
    }
    variance /= static_cast<double>(n);
    for (std::int64_t i = 0; i < n; ++i)
      y.push_back((x[at(r * n + i)] - mean) / math::sqrt(variance + eps) * w[at(i)] + b[at(i)]);
  }
  return y;
}

/// The tanh approximation used by GPT-2: x/2 (1 + tanh(√(2/π) (x + 0.044715 x³)))
template <class T>
T gelu_of(const T& x) {
  return 0.5 * x * (1 + math::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

template <class T>
List<T> gelu(List<T> x) {
  for (T& v : x) v = gelu_of(v);
  return x;
}

struct Attention {
  using AtPair =
      std::function<double(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j)>;
  std::int64_t B, H, T, S, D, Dv;
  std::function<bool(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j)> allows = {};
  AtPair keep = {};  // dropout factor of each weight
  double scale = 0;  // 0: 1/√D
};

/// Score of query i and key j in head bh. `bias` is [B, H, T, S] or empty.
template <class T>
T attention_score(const Attention& a, const List<T>& q, const List<T>& k, const List<T>& bias,
                  std::int64_t bh, std::int64_t i, std::int64_t j) {
  T sum = 0;
  for (std::int64_t c = 0; c < a.D; ++c)
    sum += q[at((bh * a.T + i) * a.D + c)] * k[at((bh * a.S + j) * a.D + c)];
  sum *= a.scale != 0 ? a.scale : 1 / std::sqrt(static_cast<double>(a.D));
  return bias.empty() ? sum : sum + bias[at((bh * a.T + i) * a.S + j)];
}

/// q [B, H, T, D], k [B, H, S, D], v [B, H, S, Dv] → [B, H, T, Dv]. Subtracts no maximum before
/// exp, because scores are of order 1.
template <class T>
List<T> attention(const Attention& a, const List<T>& q, const List<T>& k, const List<T>& v,
                  const std::type_identity_t<List<T>>& bias = {}) {
  List<T> out(at(a.B * a.H * a.T * a.Dv), T(0));
  for (std::int64_t bh = 0; bh < a.B * a.H; ++bh)
    for (std::int64_t i = 0; i < a.T; ++i) {
      const std::int64_t b = bh / a.H, h = bh % a.H;
      List<T> weight(at(a.S), T(0));
      T total = 0;
      for (std::int64_t j = 0; j < a.S; ++j) {
        if (a.allows && !a.allows(b, h, i, j)) continue;
        weight[at(j)] = math::exp(attention_score(a, q, k, bias, bh, i, j));
        total += weight[at(j)];
      }
      for (std::int64_t j = 0; j < a.S; ++j) {
        if (a.allows && !a.allows(b, h, i, j)) continue;
        const T share = weight[at(j)] / total * (a.keep ? a.keep(b, h, i, j) : 1.0);
        for (std::int64_t c = 0; c < a.Dv; ++c)
          out[at((bh * a.T + i) * a.Dv + c)] += share * v[at((bh * a.S + j) * a.Dv + c)];
      }
    }
  return out;
}

/// Columns [from, from + H·D) of x [B, T, row] as heads [B, H, T, D].
template <class Number>
List<Number> split_heads(const List<Number>& x, std::int64_t B, std::int64_t T, std::int64_t H,
                         std::int64_t D, std::int64_t row, std::int64_t from = 0) {
  List<Number> y;
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t d = 0; d < D; ++d)
          y.push_back(x[at((b * T + t) * row + from + h * D + d)]);
  return y;
}

/// [B, H, T, D] → [B, T, H·D]
template <class Number>
List<Number> merge_heads(const List<Number>& x, std::int64_t B, std::int64_t H, std::int64_t T,
                         std::int64_t D) {
  List<Number> y;
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t t = 0; t < T; ++t)
      for (std::int64_t h = 0; h < H; ++h)
        for (std::int64_t d = 0; d < D; ++d) y.push_back(x[at(((b * H + h) * T + t) * D + d)]);
  return y;
}

/// Self-attention of packed projections of shape [B, T, 3·H·D] → [B, T, H·D].
template <class T>
List<T> packed_attention(Attention a, const List<T>& qkv) {
  const std::int64_t C = a.H * a.D;
  a.S = a.T, a.Dv = a.D;
  const List<T> o = attention(a, split_heads(qkv, a.B, a.T, a.H, a.D, 3 * C, 0),
                              split_heads(qkv, a.B, a.T, a.H, a.D, 3 * C, C),
                              split_heads(qkv, a.B, a.T, a.H, a.D, 3 * C, 2 * C));
  return merge_heads(o, a.B, a.H, a.T, a.D);
}

}  // namespace gradus::testing::naive
