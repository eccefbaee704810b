// Samples of the layer options of pretrained models.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gradus/nn/block.h"
#include "gradus/nn/extras/lora.h"
#include "gradus/tests/nn/layer_sample.h"
#include "gradus/tests/nn/naive_layers.h"

namespace gradus::testing {
namespace {

using naive::at;
using naive::causal;

template <class T>
List<T> rms_norm(List<T> x, const List<T>& w, double eps) {
  const std::size_t n = w.size();
  for (std::size_t r = 0; r < x.size(); r += n) {
    T squares = eps * static_cast<double>(n);
    for (std::size_t c = 0; c < n; ++c) squares += x[r + c] * x[r + c];
    const T rms = math::sqrt(squares / static_cast<double>(n));
    for (std::size_t c = 0; c < n; ++c) x[r + c] = x[r + c] / rms * w[c];
  }
  return x;
}

/// Rotates pair i of [rows, D] by position · base^(−2i / D), position = r % T.
template <class T>
List<T> turned(List<T> heads, std::int64_t D, std::int64_t positions, const RotaryOptions& how) {
  for (std::int64_t r = 0; r < std::ssize(heads) / D; ++r)
    for (std::int64_t i = 0; i < D / 2; ++i) {
      const double angle = double(r % positions) * std::pow(how.base, -2 * double(i) / double(D));
      const double c = std::cos(angle), s = std::sin(angle);
      T& x = heads[at(r * D + (how.interleaved ? 2 * i : i))];
      T& y = heads[at(r * D + (how.interleaved ? 2 * i + 1 : i + D / 2))];
      const T a = x, b = y;
      x = a * c - b * s;
      y = b * c + a * s;
    }
  return heads;
}

/// Causal attention with two query heads and one key-value head; x is [1, 3, 4].
template <class T>
List<T> attended(const nn::MultiHeadAttentionOptions& o, const List<T>& x, const Parameters<T>& p,
                 std::size_t first) {
  const std::int64_t D = o.head.width.value_or(2), row = 4 * D;
  const List<T> w = p[first++], b = o.head.qkv_bias.value_or(o.bias) ? p[first++] : List<T>();
  const List<T> w_out = p[first++],
                b_out = o.head.out_bias.value_or(o.bias) ? p[first++] : List<T>();
  const List<T> qkv = naive::affine(x, 4, w, b);  // [1, 3, (2 + 1 + 1) · D]
  List<T> q = naive::split_heads(qkv, 1, 3, 2, D, row, 0),
          k = naive::split_heads(qkv, 1, 3, 1, D, row, 2 * D);
  const List<T> v = naive::split_heads(qkv, 1, 3, 1, D, row, 3 * D);
  if (o.head.qk_norm) {
    q = rms_norm(q, p[first], *o.head.qk_norm);
    k = rms_norm(k, p[first + 1], *o.head.qk_norm);
  }
  if (o.head.position == nn::HeadPosition::rotary) {
    q = turned(q, D, 3, o.head.rotary);
    k = turned(k, D, 3, o.head.rotary);
  }
  const List<T> heads =
      naive::attention({1, 2, 3, 3, D, D, causal}, q, naive::shared_heads(k, 1, 2, 1, 3 * D),
                       naive::shared_heads(v, 1, 2, 1, 3 * D));
  return naive::affine(naive::merge_heads(heads, 1, 2, 3, D), 2 * D, w_out, b_out);
}

void add_attention(Samples& all) {
  const auto sample = [&](const char* what, nn::MultiHeadAttentionOptions o) {
    o.width = 4;
    o.heads = 2;
    o.kv_heads = 1;
    all.push_back(layer(
        "attention", what, {values({1, 3, 4})}, [o] { return nn::MultiHeadAttention(o); },
        [](const nn::MultiHeadAttention& m, const Inputs& in) { return m(in[0], causal_mask()); },
        [o]<class T>(const Arguments<T>& in, const Parameters<T>& p) {
          return attended(o, numbers(in[0]), p, 0);
        }));
  };
  constexpr auto rotary = nn::HeadPosition::rotary;
  sample("MultiHeadAttention, heads wider than C / H", {.head = {.width = 3}});
  sample("MultiHeadAttention, bias of q, k and v only", {.head = {.out_bias = false}});
  sample("MultiHeadAttention, bias of the output only",
         {.bias = false, .head = {.out_bias = true}});
  sample("MultiHeadAttention, norms of queries and keys", {.head = {.qk_norm = 0.25}});
  sample("MultiHeadAttention, rotary with another base",
         {.head = {.position = rotary, .rotary = {.base = 50}, .width = 4}});
  sample("MultiHeadAttention, interleaved rotary after norms",
         {.head = {.position = rotary,
                   .rotary = {.base = 50, .interleaved = true},
                   .width = 4,
                   .qk_norm = 1e-3}});
}

void add_norms(Samples& all) {
  all.push_back(layer(
      "rms_norm", "Norm, RMS norm with a large eps", {values({2, 3})},
      [] { return nn::Norm(3, nn::NormKind::rms, {.eps = 0.5}); }, call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        return rms_norm(numbers(in[0]), p[0], 0.5);
      }));
  all.push_back(layer(
      "layer_norm", "Norm, layer norm with a large eps", {values({2, 3})},
      [] { return nn::Norm(3, nn::NormKind::layer, {.eps = 0.5}); }, call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        List<T> x = numbers(in[0]);
        for (std::size_t r = 0; r < 6; r += 3) {
          const T mean = (x[r] + x[r + 1] + x[r + 2]) / 3;
          for (std::size_t c = 0; c < 3; ++c) x[r + c] -= mean;
        }
        List<T> y = rms_norm(x, p[0], 0.5);
        for (std::size_t i = 0; i < 6; ++i) y[i] += p[1][i % 3];
        return y;
      }));
}

/// Adds a block like those of Qwen.
void add_block(Samples& all) {
  const nn::BlockOptions o{.width = 4,
                           .heads = 2,
                           .kv_heads = 1,
                           .hidden = 3,
                           .bias = false,
                           .activation = nn::Activation::swiglu,
                           .norm_kind = nn::NormKind::rms,
                           .norm_eps = 0.125,
                           .head = {.position = nn::HeadPosition::rotary,
                                    .rotary = {.base = 20},
                                    .width = 4,
                                    .qkv_bias = true}};
  all.push_back(layer(
      "attention", "Block, Qwen's options", {values({1, 3, 4})}, [o] { return nn::Block(o); },
      [](const nn::Block& m, const Inputs& in) { return m(in[0], causal_mask()); },
      [o]<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        const nn::MultiHeadAttentionOptions how{.bias = false, .head = o.head};
        const List<T> x = numbers(in[0]);
        const List<T> y = naive::plus(x, attended(how, rms_norm(x, p[0], o.norm_eps), p, 1));
        const List<T> up = naive::affine(rms_norm(y, p[4], o.norm_eps), 4, p[5], {});
        List<T> gated;  // each row has 3 gates, then 3 values
        for (std::size_t r = 0; r < up.size(); r += 6)
          for (std::size_t c = 0; c < 3; ++c)
            gated.push_back(up[r + c] / (1 + math::exp(-up[r + c])) * up[r + 3 + c]);
        return naive::plus(y, naive::affine(gated, 3, p[6], {}));
      }));
}

void add_adapter(Samples& all) {
  all.push_back(layer(
      "linear", "Linear with an adapter", {values({2, 3})},
      [] {
        nn::Linear made(3, 4);
        nn::add_adapters(made, "*", {.rank = 2, .alpha = 3});
        return made;
      },
      call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        const List<T> x = numbers(in[0]);
        List<T> low = naive::affine(naive::affine(x, 3, p[2], {}), 2, p[3], {});
        for (T& each : low) each *= 1.5;
        return naive::plus(naive::affine(x, 3, p[0], p[1]), low);
      }));
}

}  // namespace

Samples option_samples() {
  Samples all;
  add_attention(all);
  add_norms(all);
  add_block(all);
  add_adapter(all);
  return all;
}

}  // namespace gradus::testing
