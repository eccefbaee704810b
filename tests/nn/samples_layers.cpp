// Samples of layers in evaluation mode.
#include <string>
#include <utility>
#include <vector>

#include "gradus/nn/attention.h"
#include "gradus/nn/block.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/feed_forward.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/nn/norm.h"
#include "gradus/ops/create.h"
#include "gradus/tests/nn/layer_sample.h"
#include "gradus/tests/nn/naive_layers.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using naive::at;
using naive::block;
using naive::causal;
using naive::feed_forward;
using naive::self_attention;
void add_simple_layers(Samples& all) {
  all.push_back(layer(
      "linear", "Linear", {values({2, 3, 5})}, [] { return nn::Linear(5, 2); }, call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        return naive::affine(numbers(in[0]), 5, p[0], p[1]);
      }));
  all.push_back(layer(
      "linear", "Linear without bias", {values({3, 5})},
      [] { return nn::Linear(5, 2, {.bias = false}); }, call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        return naive::affine(numbers(in[0]), 5, p[0], {});
      }));
  all.push_back(layer(
      "embedding", "Embedding, repeated ids and an unused id", {ids({4, 0, 2, 4, 4, 0}, {2, 3})},
      [] { return nn::Embedding(5, 3); }, call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        List<T> y;
        for (const std::int64_t id : in[0].integers)
          for (std::int64_t c = 0; c < 3; ++c) y.push_back(p[0][at(id * 3 + c)]);
        return y;
      }));
  all.push_back(layer(
      "layer_norm", "LayerNorm", {values({2, 3, 7})}, [] { return nn::LayerNorm(7); }, call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        return naive::layer_norm(numbers(in[0]), 7, p[0], p[1]);
      }));
  all.push_back(layer(
      "rms_norm", "RMSNorm, a large eps", {values({3, 5})},
      [] { return nn::RMSNorm(5, {.eps = 0.1}); }, call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        List<T> y = numbers(in[0]);
        for (std::size_t r = 0; r < 3; ++r) {
          T squares = 0;
          for (std::size_t c = 0; c < 5; ++c) squares += y[r * 5 + c] * y[r * 5 + c];
          for (std::size_t c = 0; c < 5; ++c)
            y[r * 5 + c] *= p[0][c] / math::sqrt(squares / 5 + 0.1);
        }
        return y;
      }));
}

void add_attention(Samples& all) {
  const auto make = [] { return nn::MultiHeadAttention({.width = 4, .heads = 2}); };
  const auto self = [&](const char* what, naive::Attention a, const Mask& mask) {
    return layer(
        "packed_attention", what, {values({a.B, a.T, 4})}, make,
        [mask](const nn::MultiHeadAttention& m, const Inputs& in) { return m(in[0], mask); },
        [a]<class T>(const Arguments<T>& in, const Parameters<T>& p) {
          return self_attention(a, numbers(in[0]), p, 0);
        });
  };
  const auto padded = [](std::int64_t b, std::int64_t, std::int64_t, std::int64_t j) {
    return j < (b == 0 ? 3 : 1);
  };
  all.push_back(self("MultiHeadAttention", {1, 2, 5, 5, 2, 2}, {}));
  all.push_back(self("MultiHeadAttention, causal", {2, 2, 3, 3, 2, 2, causal}, causal_mask()));
  all.push_back(
      self("MultiHeadAttention, padding", {2, 2, 3, 3, 2, 2, padded}, padding_mask({3, 1})));
  all.push_back(layer(
      "attention", "CrossAttention, memory with another width",
      {values({1, 3, 4}), values({1, 5, 3}, 1)},
      [] { return nn::CrossAttention({.width = 4, .heads = 2, .memory_width = 3}); },
      [](const nn::CrossAttention& m, const Inputs& in) {
        return m(in[0], in[1], padding_mask({4}));
      },
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        const auto first_four = [](std::int64_t, std::int64_t, std::int64_t, std::int64_t j) {
          return j < 4;
        };
        const List<T> q =
            naive::split_heads(naive::affine(numbers(in[0]), 4, p[0], p[1]), 1, 3, 2, 2, 4);
        const List<T> k =
            naive::split_heads(naive::affine(numbers(in[1]), 3, p[2], p[3]), 1, 5, 2, 2, 4);
        const List<T> v =
            naive::split_heads(naive::affine(numbers(in[1]), 3, p[4], p[5]), 1, 5, 2, 2, 4);
        const List<T> heads = naive::attention({1, 2, 3, 5, 2, 2, first_four}, q, k, v);
        return naive::affine(naive::merge_heads(heads, 1, 2, 3, 2), 4, p[6], p[7]);
      }));
}

void add_blocks(Samples& all) {
  all.push_back(layer(
      "gelu", "FeedForward", {values({3, 2})},
      [] { return nn::FeedForward({.width = 2, .hidden = 3}); }, call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        return feed_forward(numbers(in[0]), 2, p, 0);
      }));
  for (const nn::NormPlacement norm : {nn::NormPlacement::pre, nn::NormPlacement::post}) {
    const bool post = norm == nn::NormPlacement::post;
    all.push_back(layer(
        "packed_attention", post ? "Block, post-norm" : "Block, pre-norm", {values({1, 3, 4})},
        [norm] { return nn::Block({.width = 4, .heads = 2, .hidden = 3, .norm = norm}); },
        [](const nn::Block& m, const Inputs& in) { return m(in[0], causal_mask()); },
        [post]<class T>(const Arguments<T>& in, const Parameters<T>& p) {
          return block({1, 2, 3, 3, 2, 2, causal}, numbers(in[0]), p, 0, post);
        }));
  }
}

/// The mean of log Σ exp(logits) − logits[target].
template <class T>
T cross_entropy(const List<T>& logits, std::int64_t V, const std::vector<std::int64_t>& targets) {
  T loss = 0;
  for (std::size_t t = 0; t < targets.size(); ++t) {
    T sum = 0;
    for (std::int64_t v = 0; v < V; ++v) sum += math::exp(logits[at(std::int64_t(t) * V + v)]);
    loss += math::log(sum) - logits[at(std::int64_t(t) * V + targets[t])];
  }
  return loss / static_cast<double>(targets.size());
}

void add_gpt(Samples& all) {
  constexpr std::int64_t B = 2, T = 3, C = 4, V = 5;
  const auto make = [] {
    return nn::GPT({.vocab = V, .context = T + 1, .layers = 1, .block = {.width = C, .heads = 2}});
  };
  all.push_back(layer(
      "cross_entropy", "GPT's loss, one block, context longer than the text",
      {ids({4, 0, 2, 2, 1, 0}, {B, T}), ids({0, 2, 3, 1, 0, 4}, {B, T})}, make,
      [](const nn::GPT& m, const Inputs& in) { return m.loss(in[0], in[1]); },
      []<class N>(const Arguments<N>& in, const Parameters<N>& p) {
        List<N> x;
        const std::vector<std::int64_t> tokens = in[0].integers;
        for (std::int64_t t = 0; t < B * T; ++t)
          for (std::int64_t c = 0; c < C; ++c)
            x.push_back(p[0][at(tokens[at(t)] * C + c)] + p[1][at(t % T * C + c)]);
        const List<N> y = block({B, 2, T, T, 2, 2, causal}, x, p, 2, false);
        const List<N> logits = naive::affine(naive::layer_norm(y, C, p[14], p[15]), C, p[0], {});
        return List<N>{cross_entropy(logits, V, in[1].integers)};
      }));
}

}  // namespace

Samples layer_samples() {
  Samples all;
  add_simple_layers(all);
  add_attention(all);
  add_blocks(all);
  add_gpt(all);
  return all;
}

}  // namespace gradus::testing
