#include "gradus/ops/linear_attention.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using naive::at;
using naive::numbers;

template <class T, class Feature>
List<T> each_row(const List<T>& x, std::int64_t width, Feature feature) {
  List<T> y;
  for (std::int64_t r = 0; r < std::ssize(x) / width; ++r)
    for (const T& v : feature(List<T>(x.begin() + r * width, x.begin() + (r + 1) * width)))
      y.push_back(v);
  return y;
}

/// Σ_j (q_i · k_j) v_j / (Σ_j q_i · k_j + eps) over the allowed j; a.D is the number of features.
template <class T>
List<T> by_pairs(const naive::Attention& a, double eps, const List<T>& q, const List<T>& k,
                 const List<T>& v) {
  List<T> y(at(a.B * a.H * a.T * a.Dv), T(0));
  for (std::int64_t bh = 0; bh < a.B * a.H; ++bh)
    for (std::int64_t i = 0; i < a.T; ++i) {
      T total = eps;
      bool any = false;
      for (std::int64_t j = 0; j < a.S; ++j) {
        if (a.allows && !a.allows(bh / a.H, bh % a.H, i, j)) continue;
        T product = 0;
        for (std::int64_t c = 0; c < a.D; ++c)
          product += q[at((bh * a.T + i) * a.D + c)] * k[at((bh * a.S + j) * a.D + c)];
        total += product, any = true;
        for (std::int64_t c = 0; c < a.Dv; ++c)
          y[at((bh * a.T + i) * a.Dv + c)] += product * v[at((bh * a.S + j) * a.Dv + c)];
      }
      for (std::int64_t c = 0; any && c < a.Dv; ++c) y[at((bh * a.T + i) * a.Dv + c)] /= total;
    }
  return y;
}

Inputs inputs_of(const naive::Attention& a) {
  return {values({a.B, a.H, a.T, a.D}), values({a.B, a.H, a.S, a.D}, 1),
          values({a.B, a.H, a.S, a.Dv}, 2)};
}

template <class T>
List<T> elu_plus_one(List<T> x) {
  for (T& v : x) v = v > 0 ? v + 1 : math::exp(v);
  return x;
}
template <class T>
List<T> positive_part(List<T> x) {
  for (T& v : x) v = v > 0 ? v : T(0);
  return x;
}

Sample linear_sample(std::string what, const naive::Attention& a,
                     const LinearAttentionOptions& options) {
  return {.op = "matmul",
          .what = std::move(what),
          .inputs = inputs_of(a),
          .f = [=](const Inputs& in) { return linear_attention(in[0], in[1], in[2], options); },
          .reference =
              [=]<class T>(const Arguments<T>& in) {
                const bool rectified = options.feature == FeatureMap::relu;
                const auto feature = [&](const Argument<T>& x) {
                  return rectified ? positive_part(numbers(x)) : elu_plus_one(numbers(x));
                };
                return by_pairs(a, options.eps, feature(in[0]), feature(in[1]), numbers(in[2]));
              },
          .function = "linear_attention"};
}

const naive::Attention kHidden{1, 1, 3, 5, 2, 2, [](auto, auto, auto, auto j) { return j < 3; }};

/// Sets hidden keys and values to infinity.
void spoil(Sample& sample) {
  sample.differences = false;
  for (const std::size_t k : {1u, 2u}) {
    List<double> x = numbers(sample.inputs[k]);
    for (std::size_t i = 6; i < 10; ++i) x[i] = std::numeric_limits<double>::infinity();
    sample.inputs[k] = tensor(x, {1, 1, 5, 2});
  }
}

void add_linear(Samples& all) {
  using I = std::int64_t;
  const auto causal = [](I, I, I i, I j) { return i >= j; };
  const auto padded = [](I b, I, I, I j) { return j < (b == 0 ? 2 : 0); };
  all.push_back(linear_sample("unequal primes", {2, 1, 3, 5, 3, 2}, {}));
  all.push_back(linear_sample("relu, several heads, a large eps", {1, 3, 2, 5, 3, 2},
                              {.feature = FeatureMap::relu, .eps = 0.25}));
  all.push_back(linear_sample("padding, one example is all padding", {2, 2, 3, 5, 2, 3, padded},
                              {.lengths = {2, 0}}));
  all.push_back(linear_sample("all sizes 1", {1, 1, 1, 1, 1, 1}, {}));
  all.push_back(linear_sample("no examples", {0, 2, 3, 3, 2, 2}, {.causal = true}));
  all.push_back(linear_sample("no queries, causal", {1, 2, 0, 0, 2, 2}, {.causal = true}));
  all.push_back(linear_sample("no keys", {1, 2, 3, 0, 2, 2}, {}));
  all.push_back(linear_sample("causal", {1, 2, 5, 5, 3, 2, causal}, {.causal = true}));
  all.push_back(linear_sample(
      "causal with padding",
      {2, 1, 5, 5, 2, 2, [](I b, I, I i, I j) { return i >= j && j < (b == 0 ? 3 : 5); }},
      {.causal = true, .lengths = {3, 5}}));
  for (const I T : {128, 131}) {  // two full chunks; two and a partial one
    all.push_back(
        linear_sample("causal, several chunks", {1, 1, T, T, 2, 1, causal}, {.causal = true}));
    all.back().large = true;
  }
  all.push_back(linear_sample("hidden keys and values are infinite", kHidden, {.lengths = {3}}));
  spoil(all.back());
}

/// exp(w · x − |x|² / 2 − shift) / √M for each row of w
template <class T>
List<T> favored(const List<T>& x, const std::vector<double>& w, double shift) {
  const std::int64_t D = std::ssize(x), M = std::ssize(w) / D;
  List<T> y;
  for (std::int64_t m = 0; m < M; ++m) {
    T exponent = -shift;
    for (std::int64_t c = 0; c < D; ++c)
      exponent += w[at(m * D + c)] * x[at(c)] - 0.5 * x[at(c)] * x[at(c)];
    y.push_back(math::exp(exponent) / std::sqrt(double(M)));
  }
  return y;
}

Sample performer_sample(std::string what, naive::Attention a, const PerformerOptions& options) {
  const std::int64_t D = a.D, M = 7;
  const Tensor projection = orthogonal_projection(M, D, Generator(7).next(), Dtype::f64);
  a.D = M;
  return {.op = "exp",
          .what = std::move(what),
          .inputs = {values({a.B, a.H, a.T, D}), values({a.B, a.H, a.S, D}, 1),
                     values({a.B, a.H, a.S, a.Dv}, 2)},
          .f =
              [=](const Inputs& in) {
                return performer_attention(in[0], in[1], in[2], projection.to(in[0].dtype()),
                                           options);
              },
          .reference =
              [=, w = numbers(projection)]<class T>(const Arguments<T>& in) {
                const auto features = [&](List<T> x) {
                  for (T& v : x) v *= std::pow(double(D), -0.25);
                  return each_row(x, D, [&](const List<T>& row) { return favored(row, w, 0); });
                };
                return by_pairs(a, 0, features(numbers(in[0])), features(numbers(in[1])),
                                numbers(in[2]));
              },
          .function = "performer_attention"};
}

void add_performers(Samples& all) {
  using I = std::int64_t;
  all.push_back(performer_sample("unequal primes", {2, 1, 3, 5, 4, 2}, {}));
  all.push_back(performer_sample(
      "causal", {1, 2, 5, 5, 3, 2, [](I, I, I i, I j) { return i >= j; }}, {.causal = true}));
  all.push_back(performer_sample("padding, one example is all padding",
                                 {2, 1, 2, 5, 2, 3, [](I b, I, I, I j) { return j < 3 * b; }},
                                 {.lengths = {0, 3}}));
  all.push_back(performer_sample("no keys", {1, 1, 3, 0, 2, 2}, {}));
  all.push_back(performer_sample("all sizes 1", {1, 1, 1, 1, 1, 1}, {}));
  all.push_back(performer_sample("no examples", {0, 2, 3, 5, 2, 2}, {}));
  all.push_back(performer_sample("hidden keys and values are infinite", kHidden, {.lengths = {3}}));
  spoil(all.back());
  const Tensor projection = orthogonal_projection(5, 3, Generator(7).next(), Dtype::f64);
  for (const bool shifted : {false, true})
    all.push_back({.op = "exp",
                   .what = shifted ? "features with a shift" : "features",
                   .inputs = {values({2, 7, 3})},
                   .f =
                       [=](const Inputs& in) {
                         const Dtype dtype = in[0].dtype();
                         const Tensor shift = shifted ? full({1}, 0.25, dtype) : Tensor();
                         return favor_features(in[0], projection.to(dtype), shift);
                       },
                   .reference =
                       [=, w = numbers(projection)]<class T>(const Arguments<T>& in) {
                         return each_row(numbers(in[0]), 3, [&](const List<T>& row) {
                           return favored(row, w, shifted ? 0.25 : 0);
                         });
                       },
                   .function = "favor_features"});
  all.push_back({.op = "masked_fill",
                 .what = "positions after the lengths",
                 .inputs = {values({3, 1, 5, 2})},
                 .f =
                     [](const Inputs& in) {
                       return mask_padding(in[0], {3, 0, 5});
                     },
                 .reference =
                     []<class T>(const Arguments<T>& in) {
                       List<T> y = numbers(in[0]);
                       for (std::size_t i = 6; i < 20; ++i) y[i] = T(0);
                       return y;
                     },
                 .function = "mask_padding"});
}

}  // namespace

Samples linear_attention_samples() {
  Samples all;
  add_linear(all);
  add_performers(all);
  return all;
}

}  // namespace gradus::testing
