// Samples of attention variants, decoders and stacks.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gradus/nn/transformer.h"
#include "gradus/tests/nn/layer_sample.h"
#include "gradus/tests/nn/naive_layers.h"

namespace gradus::testing {
namespace {

using naive::at;
using naive::causal;

void add_parts(Samples& all) {
  all.push_back(layer(
      "layer_norm", "Norm, layer norm", {values({2, 3})}, [] { return nn::Norm(3); }, call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        return naive::layer_norm(numbers(in[0]), 3, p[0], p[1]);
      }));
  all.push_back(layer(
      "rms_norm", "Norm, RMS norm", {values({2, 3})}, [] { return nn::Norm(3, nn::NormKind::rms); },
      call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        List<T> y = numbers(in[0]);
        for (std::size_t r = 0; r < 6; r += 3) {
          const T squares = y[r] * y[r] + y[r + 1] * y[r + 1] + y[r + 2] * y[r + 2];
          for (std::size_t c = 0; c < 3; ++c) y[r + c] *= p[0][c] / math::sqrt(squares / 3 + 1e-5);
        }
        return y;
      }));
  const auto gated = []<class T>(const List<T>& gate, const List<T>& x) {
    List<T> y;
    for (std::size_t i = 0; i < x.size(); ++i)
      y.push_back(gate[i] / (1 + math::exp(-gate[i])) * x[i]);
    return y;
  };
  all.push_back(layer(
      "swiglu", "SwiGLU", {values({3, 2})}, [] { return nn::SwiGLU(2, 3); }, call_one,
      [gated]<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        return gated(naive::affine(numbers(in[0]), 2, p[0], p[1]),
                     naive::affine(numbers(in[0]), 2, p[2], p[3]));
      }));
  all.push_back(layer(
      "swiglu", "FeedForward, swiglu", {values({2, 2})},
      [] {
        return nn::FeedForward({.width = 2, .hidden = 3, .activation = nn::Activation::swiglu});
      },
      call_one,
      [gated]<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        const List<T> up = naive::affine(numbers(in[0]), 2, p[0], p[1]);  // [2, 6], gates first
        List<T> gate, x;
        for (std::size_t i = 0; i < up.size(); ++i) (i % 6 < 3 ? gate : x).push_back(up[i]);
        return naive::affine(gated(gate, x), 3, p[2], p[3]);
      }));
}

void add_self_attention(Samples& all) {
  all.push_back(layer(
      "attention", "SelfAttention with other widths", {values({2, 3, 2})},
      [] { return nn::SelfAttention(2, {.key_width = 3, .value_width = 5}); },
      [](const nn::SelfAttention& m, const Inputs& in) { return m(in[0], causal_mask()); },
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        const List<T> x = numbers(in[0]);
        return naive::attention({2, 1, 3, 3, 3, 5, causal}, naive::affine(x, 2, p[0], p[1]),
                                naive::affine(x, 2, p[2], p[3]), naive::affine(x, 2, p[4], p[5]));
      }));
  all.push_back(layer(
      "attention", "SelfAttention without bias", {values({1, 3, 2})},
      [] { return nn::SelfAttention(2, {.bias = false}); }, call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        const List<T> x = numbers(in[0]);
        return naive::attention({1, 1, 3, 3, 2, 2}, naive::affine(x, 2, p[0], {}),
                                naive::affine(x, 2, p[1], {}), naive::affine(x, 2, p[2], {}));
      }));
}

/// Attention with two heads of width 2 and one key-value head; x is [1, 3, 4]. `turn` rotates heads
/// in place; `bias` is a function of head, query and key.
template <class T, class Turn, class Bias>
List<T> grouped(const List<T>& x, const Parameters<T>& p, Turn turn, Bias bias) {
  const List<T> qkv = naive::affine(x, 4, p[0], p[1]);  // [1, 3, 4 + 2 + 2]
  List<T> q = naive::split_heads(qkv, 1, 3, 2, 2, 8, 0),
          k = naive::split_heads(qkv, 1, 3, 1, 2, 8, 4);
  turn(q), turn(k);
  const List<T> v = naive::split_heads(qkv, 1, 3, 1, 2, 8, 6);
  List<T> added;
  for (std::int64_t h = 0; h < 2; ++h)
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < 3; ++j) added.push_back(bias(h, i, j));
  const List<T> heads =
      naive::attention({1, 2, 3, 3, 2, 2, causal}, q, naive::shared_heads(k, 1, 2, 1, 6),
                       naive::shared_heads(v, 1, 2, 1, 6), added);
  return naive::affine(naive::merge_heads(heads, 1, 2, 3, 2), 4, p[2], p[3]);
}

constexpr auto no_turn = [](auto&) {};
/// Rotates each pair by one radian per position.
constexpr auto turn_pairs = []<class T>(List<T>& heads) {
  for (std::int64_t row = 0; row < std::ssize(heads) / 2; ++row) {
    const double angle = static_cast<double>(row % 3), c = std::cos(angle), s = std::sin(angle);
    const T a = heads[at(2 * row)], b = heads[at(2 * row + 1)];
    heads[at(2 * row)] = a * c - b * s, heads[at(2 * row + 1)] = b * c + a * s;
  }
};

void add_positioned(Samples& all) {
  const auto sample = [&](const char* op, const char* what, nn::HeadPosition position,
                          auto reference) {
    all.push_back(layer(
        op, what, {values({1, 3, 4})},
        [position] {
          return nn::MultiHeadAttention(
              {.width = 4,
               .heads = 2,
               .kv_heads = 1,
               .head = {.position = position,
                        .relative = {.count = 4, .max_distance = 4, .bidirectional = false}}});
        },
        [](const nn::MultiHeadAttention& m, const Inputs& in) { return m(in[0], causal_mask()); },
        reference));
  };
  sample("attention", "MultiHeadAttention, one key head", nn::HeadPosition::none,
         []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
           return grouped(numbers(in[0]), p, no_turn, [](auto...) { return T(0); });
         });
  sample("attention", "MultiHeadAttention, rotary", nn::HeadPosition::rotary,
         []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
           return grouped(numbers(in[0]), p, turn_pairs, [](auto...) { return T(0); });
         });
  sample("attention", "MultiHeadAttention, ALiBi", nn::HeadPosition::alibi,
         []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
           return grouped(numbers(in[0]), p, no_turn, [](auto h, auto i, auto j) {
             return T((h == 0 ? -0.0625 : -0.00390625) * static_cast<double>(std::abs(i - j)));
           });
         });
  sample("masked_fill", "MultiHeadAttention, relative buckets", nn::HeadPosition::relative,
         []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
           return grouped(numbers(in[0]), p, no_turn, [&](auto h, auto i, auto j) {
             return p[4][at(std::max<std::int64_t>(i - j, 0) * 2 + h)];
           });
         });
  all.push_back(layer(
      "attention", "CrossAttention, separate memories for keys and values",
      {values({1, 2, 2}), values({1, 3, 3}, 1), values({1, 3, 5}, 2)},
      [] {
        return nn::CrossAttention(
            {.width = 2, .heads = 1, .memory_width = 3, .value_width = 5, .bias = false});
      },
      [](const nn::CrossAttention& m, const Inputs& in) { return m(in[0], in[1], in[2]); },
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        const List<T> heads = naive::attention(
            {1, 1, 2, 3, 2, 2}, naive::affine(numbers(in[0]), 2, p[0], {}),
            naive::affine(numbers(in[1]), 3, p[1], {}), naive::affine(numbers(in[2]), 5, p[2], {}));
        return naive::affine(heads, 2, p[3], {});
      }));
}

const naive::Attention kTarget{1, 1, 2, 2, 3, 3, causal}, kSource{1, 1, 3, 3, 3, 3};
const naive::Attention kCross{1, 1, 2, 3, 3, 3};

void add_decoders(Samples& all) {
  for (const bool post : {false, true}) {
    const nn::BlockOptions options{.width = 3,
                                   .heads = 1,
                                   .hidden = 2,
                                   .norm = post ? nn::NormPlacement::post : nn::NormPlacement::pre};
    all.push_back(layer(
        "attention", post ? "DecoderBlock, post-norm" : "DecoderBlock, pre-norm",
        {values({1, 2, 3}), values({1, 3, 3}, 1)}, [=] { return nn::DecoderBlock(options); },
        [](const nn::DecoderBlock& m, const Inputs& in) { return m(in[0], in[1]); },
        [post]<class T>(const Arguments<T>& in, const Parameters<T>& p) {
          return naive::decoder_block(kTarget, kCross, numbers(in[0]), numbers(in[1]), p, 0, post);
        }));
  }
}

void add_stacks(Samples& all) {
  const nn::BlockOptions options{.width = 3, .heads = 1, .hidden = 2};
  all.push_back(layer(
      "packed_attention", "Encoder of one block", {values({1, 3, 3})},
      [=] { return nn::Encoder({.block = options}); }, call_one,
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        return naive::layer_norm(naive::block(kSource, numbers(in[0]), p, 0, false), 3, p[12],
                                 p[13]);
      }));
  all.push_back(layer(
      "attention", "Decoder without a final norm", {values({1, 2, 3}), values({1, 3, 3}, 1)},
      [=] { return nn::Decoder({.block = options, .final_norm = false}); },
      [](const nn::Decoder& m, const Inputs& in) { return m(in[0], in[1]); },
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        return naive::decoder_block(kTarget, kCross, numbers(in[0]), numbers(in[1]), p, 0, false);
      }));
  all.push_back(layer(
      "attention", "Transformer, a source with padding", {values({1, 3, 3}), values({1, 2, 3}, 1)},
      [=] { return nn::Transformer({.block = options}); },
      [](const nn::Transformer& m, const Inputs& in) { return m(in[0], in[1], padding_mask({2})); },
      []<class T>(const Arguments<T>& in, const Parameters<T>& p) {
        const auto two = [](std::int64_t, std::int64_t, std::int64_t, std::int64_t j) {
          return j < 2;
        };
        naive::Attention source = kSource, cross = kCross;
        source.allows = two, cross.allows = two;
        const List<T> memory =
            naive::layer_norm(naive::block(source, numbers(in[0]), p, 0, false), 3, p[12], p[13]);
        const List<T> y =
            naive::decoder_block(kTarget, cross, numbers(in[1]), memory, p, 14, false);
        return naive::layer_norm(y, 3, p[36], p[37]);
      }));
}

}  // namespace

Samples transformer_samples() {
  Samples all;
  add_parts(all);
  add_self_attention(all);
  add_positioned(all);
  add_decoders(all);
  add_stacks(all);
  return all;
}

}  // namespace gradus::testing
