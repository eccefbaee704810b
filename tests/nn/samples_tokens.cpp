// Samples of the token-mixing layers other than attention.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gradus/nn/extras/conv.h"
#include "gradus/nn/extras/linear_attention.h"
#include "gradus/nn/position.h"
#include "gradus/nn/scoring.h"
#include "gradus/tests/nn/layer_sample.h"

namespace gradus::testing {
namespace {

using naive::at;

/// The four buckets are for distance 0, distance 1, distances 2 to 3, and larger distances.
Sample relative_bias(const char* what, std::vector<std::int64_t> queries,
                     std::vector<std::int64_t> keys, std::int64_t examples) {
  const RelativeBuckets buckets{.count = 4, .max_distance = 4, .bidirectional = false};
  return layer(
      "embedding", what, {}, [=] { return nn::RelativeBias(3, buckets); },
      [=](const nn::RelativeBias& m, const Inputs&) { return m(queries, keys, examples); },
      [=]<class T>(const Arguments<T>&, const Parameters<T>& p) {
        const std::int64_t B = std::max<std::int64_t>(examples, 1), Q = std::ssize(queries) / B,
                           K = std::ssize(keys) / B;
        List<T> y;
        for (std::int64_t b = 0; b < B; ++b)
          for (std::int64_t h = 0; h < 3; ++h)
            for (std::int64_t i = 0; i < Q; ++i)
              for (std::int64_t j = 0; j < K; ++j) {
                const std::int64_t back = queries[at(b * Q + i)] - keys[at(b * K + j)];
                const std::int64_t bucket = back <= 0 ? 0 : back == 1 ? 1 : back == 2 ? 2 : 3;
                y.push_back(p[0][at(bucket * 3 + h)]);
              }
        return y;
      });
}

/// Convolves [Cin, L] with [Cout, Cin, K], zero-padded on the left.
template <class T>
List<T> causal_convolution(const List<T>& x, std::int64_t Cin, std::int64_t L, const List<T>& w,
                           const List<T>& bias, std::int64_t K, std::int64_t dilation) {
  List<T> y;
  for (std::int64_t o = 0; o < std::ssize(bias); ++o)
    for (std::int64_t t = 0; t < L; ++t) {
      T sum = bias[at(o)];
      for (std::int64_t c = 0; c < Cin; ++c)
        for (std::int64_t k = 0; k < K; ++k) {
          const std::int64_t place = t - (K - 1 - k) * dilation;
          if (place >= 0) sum += w[at((o * Cin + c) * K + k)] * x[at(c * L + place)];
        }
      y.push_back(sum);
    }
  return y;
}

void add_convolution(Samples& all) {
  all.push_back(layer(
      "linear", "Conv1d, causal, dilated", {values({1, 2, 7})},
      [] { return nn::Conv1d(2, 3, 3, {.dilation = 2, .causal = true}); }, call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        return causal_convolution(numbers(in[0]), 2, 7, p[0], p[1], 3, 2);
      }));
}

/// Only performers use `w` [M, D].
template <class T>
List<T> features_of(nn::LinearAttentionKind kind, const List<T>& x, const std::vector<double>& w) {
  const std::int64_t D = std::ssize(x);
  List<T> y = x;
  for (T& v : y)
    v = kind == nn::LinearAttentionKind::relu ? (v > 0 ? v : T(0)) : v > 0 ? v + 1 : math::exp(v);
  if (kind != nn::LinearAttentionKind::performer) return y;
  y.clear();
  for (std::int64_t m = 0; m < std::ssize(w) / D; ++m) {
    T exponent = 0;
    for (std::int64_t c = 0; c < D; ++c) {
      const T scaled = x[at(c)] / std::pow(double(D), 0.25);
      exponent += w[at(m * D + c)] * scaled - 0.5 * scaled * scaled;
    }
    y.push_back(math::exp(exponent));
  }
  return y;
}

/// Linear attention: packed projections of shape [T, 3C] → [T, C].
template <class N>
List<N> mixed(const List<N>& qkv, std::int64_t T, std::int64_t H, std::int64_t D, bool causal,
              nn::LinearAttentionKind kind, const std::vector<double>& w) {
  const std::int64_t C = H * D;
  const double eps = kind == nn::LinearAttentionKind::performer ? 0 : 1e-6;
  List<N> y;
  for (std::int64_t i = 0; i < T; ++i)
    for (std::int64_t h = 0; h < H; ++h) {
      const auto part = [&](std::int64_t row, std::int64_t which) {
        const auto from = qkv.begin() + row * 3 * C + which * C + h * D;
        return List<N>(from, from + D);
      };
      List<N> sums(at(D), N(0));
      N total = eps;
      for (std::int64_t j = 0; j < (causal ? i + 1 : T); ++j) {
        const List<N> q = features_of(kind, part(i, 0), w), k = features_of(kind, part(j, 1), w);
        N product = 0;
        for (std::size_t c = 0; c < q.size(); ++c) product += q[c] * k[c];
        total += product;
        for (std::int64_t c = 0; c < D; ++c) sums[at(c)] += product * part(j, 2)[at(c)];
      }
      for (const N& sum : sums) y.push_back(sum / total);
    }
  return y;
}

void add_linear_attention(Samples& all) {
  using Kind = nn::LinearAttentionKind;
  for (const Kind kind : {Kind::elu_plus_one, Kind::relu, Kind::performer}) {
    const bool causal = kind != Kind::relu, random = kind == Kind::performer;
    const auto make = [=] {
      Generator nine(9);
      const GeneratorScope scope(nine);
      return nn::LinearAttention(
          {.width = 4, .heads = 2, .kind = kind, .features = random ? 3 : 0, .causal = causal});
    };
    const std::vector<double> w = random ? numbers(make().features) : std::vector<double>{};
    const char* names[] = {"LinearAttention, causal", "LinearAttention, relu",
                           "LinearAttention, performer"};
    all.push_back(layer(random ? "exp" : "matmul", names[static_cast<int>(kind)],
                        {values({1, 3, 4})}, make, call_one,
                        [=]<class T>(const Arguments<T>& in, const Parameters<T>& p) {
                          const List<T> qkv = naive::affine(numbers(in[0]), 4, p[0], p[1]);
                          return naive::affine(mixed(qkv, 3, 2, 2, causal, kind, w), 4, p[2], p[3]);
                        }));
  }
}

/// map [K, length], x [S, D] → [K, D]. Uses the first S columns of map.
template <class T>
List<T> reduced(const List<T>& map, std::int64_t length, const List<T>& x, std::int64_t D) {
  List<T> y;
  for (std::int64_t r = 0; r < std::ssize(map) / length; ++r)
    for (std::int64_t c = 0; c < D; ++c) {
      T sum = 0;
      for (std::int64_t s = 0; s < std::ssize(x) / D; ++s)
        sum += map[at(r * length + s)] * x[at(s * D + c)];
      y.push_back(sum);
    }
  return y;
}

void add_linformer(Samples& all) {
  all.push_back(layer(
      "attention", "LinformerAttention, shorter than its length, with padding", {values({1, 3, 2})},
      [] { return nn::LinformerAttention({.width = 2, .heads = 1, .length = 5, .reduced = 2}); },
      [](const nn::LinformerAttention& m, const Inputs& in) {
        return m(in[0], std::vector<std::int64_t>{2});
      },
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        const List<T> qkv = naive::affine(numbers(in[0]), 2, p[0], p[1]);
        List<T> q = naive::split_heads(qkv, 1, 3, 1, 2, 6),
                k = naive::split_heads(qkv, 1, 3, 1, 2, 6, 2),
                v = naive::split_heads(qkv, 1, 3, 1, 2, 6, 4);
        k.resize(4), v.resize(4);  // the third row is padding
        const List<T> y =
            naive::attention({1, 1, 3, 2, 2, 2}, q, reduced(p[4], 5, k, 2), reduced(p[5], 5, v, 2));
        return naive::affine(y, 2, p[2], p[3]);
      }));
}

/// Computes scores for two examples of 3 queries and 5 keys.
template <class T, class Score>
List<T> each_score(const Arguments<T>& in, Score score) {
  const std::int64_t Cq = in[0].shape[2], Ck = in[1].shape[2];
  List<T> y;
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < 5; ++j) {
        const auto q = in[0].values.begin() + (b * 3 + i) * Cq;
        const auto k = in[1].values.begin() + (b * 5 + j) * Ck;
        y.push_back(score(List<T>(q, q + Cq), List<T>(k, k + Ck)));
      }
  return y;
}

template <class T>
T dot(const List<T>& a, const List<T>& b) {
  T sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void add_scores(Samples& all) {
  const auto call = [](const auto& m, const Inputs& in) { return m(in[0], in[1]); };
  const Inputs same_width = {values({2, 3, 7}), values({2, 5, 7}, 1)},
               different_width = {values({2, 3, 2}), values({2, 5, 3}, 1)};
  for (const bool scaled : {false, true})
    all.push_back(layer(
        "matmul", scaled ? "DotScore" : "DotScore, not scaled", same_width,
        [=] { return nn::DotScore(scaled); }, call,
        [=]<class T>(const Arguments<T>& in, const Parameters<T>&) {
          return each_score(in, [&](const List<T>& q, const List<T>& k) {
            return dot(q, k) / (scaled ? std::sqrt(7.0) : 1.0);
          });
        }));
  all.push_back(layer(
      "matmul", "BilinearScore", different_width, [] { return nn::BilinearScore(2, 3); }, call,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        return each_score(in, [&](const List<T>& q, const List<T>& k) {
          return dot(naive::affine(q, 2, p[0], {}), k);
        });
      }));
  all.push_back(layer(
      "tanh", "AdditiveScore", different_width, [] { return nn::AdditiveScore(2, 3, 7); }, call,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        return each_score(in, [&](const List<T>& q, const List<T>& k) {
          List<T> h = naive::plus(naive::affine(q, 2, p[0], {}), naive::affine(k, 3, p[1], {}));
          for (T& v : h) v = math::tanh(v);
          return dot(p[2], h);
        });
      }));
  all.push_back(layer(
      "softmax", "AttentionPooling with padding", {values({2, 5, 3})},
      [] { return nn::AttentionPooling(3); },
      [](const nn::AttentionPooling& m, const Inputs& in) {
        return m(in[0], padding_mask({5, 2}));
      },
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        const auto padded = [](std::int64_t b, std::int64_t, std::int64_t, std::int64_t j) {
          return j < (b == 0 ? 5 : 2);
        };
        List<T> both = p[0];
        both.insert(both.end(), p[0].begin(), p[0].end());
        return naive::attention({2, 1, 1, 5, 3, 3, padded}, both, numbers(in[0]), numbers(in[0]));
      }));
}

}  // namespace

Samples token_layer_samples() {
  Samples all;
  all.push_back(relative_bias("RelativeBias, five keys", {2, 7}, {0, 1, 2, 3, 6}, 0));
  all.push_back(
      relative_bias("RelativeBias, separate positions for each example", {3, 5}, {0, 2, 4, 4}, 2));
  add_convolution(all);
  add_linear_attention(all);
  add_linformer(all);
  add_scores(all);
  return all;
}

}  // namespace gradus::testing
