// Samples of layers in training mode, containers and positions.
#include <cmath>
#include <utility>
#include <vector>

#include "gradus/nn/attention.h"
#include "gradus/nn/block.h"
#include "gradus/nn/dropout.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/feed_forward.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/norm.h"
#include "gradus/nn/position.h"
#include "gradus/nn/residual.h"
#include "gradus/nn/sequential.h"
#include "gradus/ops/activation.h"
#include "gradus/tests/nn/layer_sample.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using naive::at;

/// Returns the dropout factor of element `index`, from stream `nth` of Generator(7).
double kept(std::int64_t index, double p, int nth = 0) {
  Generator seven(7);
  RandomStream stream = seven.next();
  for (int i = 0; i < nth; ++i) stream = seven.next();
  return stream.word(index) < p * 0x1p32 ? 0.0 : 1 / (1 - p);
}

/// (x − mean) / √(variance + eps) · w + b for each channel of [N, C, L].
template <class T>
List<T> batch_norm(const List<T>& x, std::int64_t N, std::int64_t C, std::int64_t L,
                   const Parameters<T>& p) {
  List<T> y(x.size());
  const double n = static_cast<double>(N * L);
  for (std::int64_t c = 0; c < C; ++c) {
    const auto each = [&](auto visit) {
      for (std::int64_t i = 0; i < N; ++i)
        for (std::int64_t l = 0; l < L; ++l) visit(at((i * C + c) * L + l));
    };
    T mean = 0, squares = 0;
    each([&](std::size_t i) { mean += x[i] / n; });
    each([&](std::size_t i) { squares += (x[i] - mean) * (x[i] - mean); });
    each([&](std::size_t i) {
      y[i] = (x[i] - mean) / math::sqrt(squares / n + 1e-5) * p[0][at(c)] + p[1][at(c)];
    });
  }
  return y;
}

void add_batch_norm(Samples& all) {
  const auto make = [] {
    nn::BatchNorm1d norm(3);
    norm.running_mean = values({3}, 8);
    norm.running_var = positive({3}, 9);
    return norm;
  };
  all.push_back(layer(
      "batch_norm", "training, [N, C, L]", {values({2, 3, 5})}, make, call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        return batch_norm(numbers(in[0]), 2, 3, 5, p);
      },
      Phase::training));
  const List<double> mean = numbers(values({3}, 8)), variance = numbers(positive({3}, 9));
  all.push_back(layer("multiply", "evaluation, [N, C]", {values({5, 3})}, make, call_one,
                      [=]<class T>(const Arguments<T>& in, const Parameters<T>& p) {
                        List<T> y = numbers(in[0]);
                        for (std::size_t i = 0; i < y.size(); ++i) {
                          const std::size_t c = i % 3;
                          y[i] =
                              (y[i] - mean[c]) / std::sqrt(variance[c] + 1e-5) * p[0][c] + p[1][c];
                        }
                        return y;
                      }));
}

void add_dropout(Samples& all) {
  all.push_back(layer(
      "dropout", "training", {values({3, 4})}, [] { return nn::Dropout(0.375); }, call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>&) {
        List<T> y = numbers(in[0]);
        for (std::size_t i = 0; i < y.size(); ++i)
          y[i] *= kept(static_cast<std::int64_t>(i), 0.375);
        return y;
      },
      Phase::training));
  all.push_back(layer(
      "packed_attention", "training, dropout on the weights", {values({2, 3, 4})},
      [] { return nn::MultiHeadAttention({.width = 4, .heads = 2, .dropout = 0.25}); },
      [](const nn::MultiHeadAttention& m, const Inputs& in) { return m(in[0], causal_mask()); },
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        naive::Attention a{2, 2, 3, 3, 2, 2};
        a.allows = [](auto, auto, auto i, auto j) { return i >= j; };
        a.keep = [](auto b, auto h, auto i, auto j) {
          return kept(((b * 2 + h) * 3 + i) * 3 + j, 0.25);
        };
        const List<T> qkv = naive::affine(numbers(in[0]), 4, p[0], p[1]);
        return naive::affine(naive::packed_attention(a, qkv), 4, p[2], p[3]);
      },
      Phase::training));
}

/// Dropout uses stream 0 for attention weights, and streams 1 and 2 for the residual branches.
void add_block(Samples& all) {
  constexpr double p_drop = 0.25;
  all.push_back(layer(
      "dropout", "training, every dropout", {values({1, 3, 4})},
      [] { return nn::Block({.width = 4, .heads = 2, .hidden = 3, .dropout = p_drop}); },
      [](const nn::Block& m, const Inputs& in) { return m(in[0], causal_mask()); },
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        naive::Attention a{1, 2, 3, 3, 2, 2};
        a.allows = [](auto, auto, auto i, auto j) { return i >= j; };
        a.keep = [](auto, auto h, auto i, auto j) { return kept((h * 3 + i) * 3 + j, p_drop, 0); };
        const auto add_kept = [](List<T> x, const List<T>& branch, int nth) {
          for (std::size_t i = 0; i < x.size(); ++i)
            x[i] += branch[i] * kept(static_cast<std::int64_t>(i), p_drop, nth);
          return x;
        };
        const List<T> normed = naive::layer_norm(numbers(in[0]), 4, p[0], p[1]);
        const List<T> heads = naive::packed_attention(a, naive::affine(normed, 4, p[2], p[3]));
        const List<T> x = add_kept(numbers(in[0]), naive::affine(heads, 4, p[4], p[5]), 1);
        const List<T> again = naive::layer_norm(x, 4, p[6], p[7]);
        const List<T> hidden = naive::gelu(naive::affine(again, 4, p[8], p[9]));
        return add_kept(x, naive::affine(hidden, 3, p[10], p[11]), 2);
      },
      Phase::training));
}

void add_positions(Samples& all) {
  all.push_back(layer(
      "add", "after two earlier tokens", {values({2, 3, 5})},
      [] { return nn::SinusoidalPosition(7, 5); },
      [](const nn::SinusoidalPosition& m, const Inputs& in) { return m(in[0], 2); },
      []<class T>(const Arguments<T>& in, const Parameters<T>&) {
        List<T> y = numbers(in[0]);
        for (std::size_t i = 0; i < y.size(); ++i) {
          const std::size_t position = i / 5 % 3 + 2, column = i % 5;
          const double angle = static_cast<double>(position) /
                               std::pow(10000.0, static_cast<double>(column / 2 * 2) / 5);
          y[i] += column % 2 == 0 ? std::sin(angle) : std::cos(angle);
        }
        return y;
      }));
  all.push_back(layer(
      "add", "after one earlier token", {values({2, 3, 5})},
      [] { return nn::LearnedPosition(7, 5); },
      [](const nn::LearnedPosition& m, const Inputs& in) { return m(in[0], 1); },
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        List<T> y = numbers(in[0]);
        for (std::size_t i = 0; i < y.size(); ++i) y[i] += p[0][(i / 5 % 3 + 1) * 5 + i % 5];
        return y;
      }));
}

void add_containers(Samples& all) {
  all.push_back(layer(
      "add", "around a Linear", {values({3, 5})}, [] { return nn::Residual(nn::Linear(5, 5)); },
      call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        const List<T>& x = numbers(in[0]);
        return naive::plus(x, naive::affine(x, 5, p[0], p[1]));
      }));
  all.back().function = "nn::Residual";
  all.push_back(layer(
      "silu", "Linear, relu, Linear, silu", {values({3, 5})},
      [] { return nn::Sequential(nn::Linear(5, 7), relu, nn::Linear(7, 2), nn::Activation::silu); },
      call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        List<T> hidden = naive::affine(numbers(in[0]), 5, p[0], p[1]);
        for (T& v : hidden) v = v > 0 ? v : T(0);
        List<T> y = naive::affine(hidden, 7, p[2], p[3]);
        for (T& v : y) v = v / (1 + math::exp(-v));
        return y;
      }));
}

void add_feed_forwards(Samples& all) {
  const auto with = [&](const char* op, nn::Activation activation, const Generic<OfOne>& f) {
    all.push_back(layer(
        op, std::string("without bias, ") + op, {values({3, 2})},
        [activation] {
          return nn::FeedForward(
              {.width = 2, .hidden = 5, .activation = activation, .bias = false});
        },
        call_one,
        [f]<class T>(const Arguments<T>& in, const Parameters<T>& p) {
          List<T> hidden = naive::affine(numbers(in[0]), 2, p[0], {});
          for (T& v : hidden) v = f(v);
          return naive::affine(hidden, 5, p[1], {});
        }));
  };
  with("relu", nn::Activation::relu, []<class T>(const T& x) { return x > 0 ? x : T(0); });
  with("square", nn::Activation::relu2, []<class T>(const T& x) { return x > 0 ? x * x : T(0); });
  with("silu", nn::Activation::silu, [](const auto& x) { return x / (1 + math::exp(-x)); });
  with("gelu_erf", nn::Activation::gelu,
       [](const auto& x) { return x / 2 * (1 + math::erf(x / std::sqrt(2.0))); });
}

void add_options(Samples& all) {
  all.push_back(layer(
      "layer_norm", "without weight and bias, a large eps", {values({3, 5})},
      [] { return nn::LayerNorm(5, {.eps = 0.25, .affine = false}); }, call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>&) {
        return naive::layer_norm(numbers(in[0]), 5, List<T>(5, T(1)), List<T>(5, T(0)), 0.25);
      }));
  all.push_back(layer(
      "embedding", "a padding id that occurs", {ids({4, 0, 2, 4, 1, 0}, {2, 3})},
      [] { return nn::Embedding(5, 3, {.padding_idx = 4}); }, call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        List<T> y;
        for (const std::int64_t id : in[0].integers)
          for (std::int64_t c = 0; c < 3; ++c)
            y.push_back(id == 4 ? math::constant(p[0][at(id * 3 + c)]) : p[0][at(id * 3 + c)]);
        return y;
      }));
  all.back().differences = false;
}

}  // namespace

Samples training_samples() {
  Samples all;
  add_batch_norm(all);
  add_dropout(all);
  add_block(all);
  add_positions(all);
  add_containers(all);
  add_feed_forwards(all);
  add_options(all);
  return all;
}

}  // namespace gradus::testing
