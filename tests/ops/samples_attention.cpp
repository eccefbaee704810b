#include "gradus/ops/attention/attention.h"

#include <limits>
#include <string>
#include <utility>

#include "gradus/engine/base/random.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using naive::at;
using naive::numbers;

Inputs inputs_of(const naive::Attention& a) {
  return {values({a.B, a.H, a.T, a.D}), values({a.B, a.H, a.S, a.D}, 1),
          values({a.B, a.H, a.S, a.Dv}, 2)};
}

Sample masked(std::string what, const naive::Attention& a, const Mask& mask) {
  return {
      "attention", std::move(what), inputs_of(a),
      [mask](const Inputs& in) { return scaled_dot_product_attention(in[0], in[1], in[2], mask); },
      [a]<class T>(const Arguments<T>& in) {
        return naive::attention(a, numbers(in[0]), numbers(in[1]), numbers(in[2]));
      }};
}

/// bias [H, 1, S] → [B, H, T, S]
template <class T>
List<T> spread(const List<T>& bias, const naive::Attention& a) {
  List<T> y;
  for (std::int64_t bh = 0; bh < a.B * a.H; ++bh)
    for (std::int64_t i = 0; i < a.T; ++i)
      for (std::int64_t j = 0; j < a.S; ++j) y.push_back(bias[at(bh % a.H * a.S + j)]);
  return y;
}

/// Returns the dropout factors of weights of shape [1, H, T, S], from the first stream of
/// Generator(7).
naive::Attention::AtPair dropping(double p, std::int64_t T, std::int64_t S) {
  return [=, first = Generator(7).next()](auto, auto h, auto i, auto j) {
    return first.word((h * T + i) * S + j) < p * 0x1p32 ? 0.0 : 1 / (1 - p);
  };
}

/// Allows about two of three pairs.
bool dense_allows(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
  return (b * 5 + h * 7 + i * 7 + j * 4) % 3 != 0;
}

Tensor dense(std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S) {
  Tensor allowed = Tensor::empty({B, H, T, S}, Dtype::bool_);
  bool* to = allowed.mutable_data<bool>();
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t i = 0; i < T; ++i)
        for (std::int64_t j = 0; j < S; ++j) *to++ = dense_allows(b, h, i, j);
  return allowed;
}

void add_plain_masks(Samples& all) {
  using I = std::int64_t;
  all.push_back(masked("no mask, unequal primes", {2, 1, 3, 5, 3, 2}, {}));
  all.push_back(masked("all axes unequal", {2, 3, 5, 2, 4, 1}, {}));
  all.push_back(masked("several heads", {1, 3, 2, 3, 2, 2}, {}));
  all.push_back(masked("all sizes 1", {1, 1, 1, 1, 1, 1}, {}));
  all.push_back(masked("one query", {1, 2, 1, 5, 3, 2}, {}));
  all.push_back(masked("one key", {2, 1, 3, 1, 2, 3}, {}));
  all.push_back(masked("no examples", {0, 2, 3, 5, 2, 2}, {}));
  all.push_back(masked("no queries", {1, 2, 0, 3, 2, 2}, {}));
  all.push_back(masked("no keys, so the output is 0", {1, 2, 3, 0, 2, 2}, {}));
  all.push_back(
      masked("causal", {1, 2, 5, 5, 2, 3, [](I, I, I i, I j) { return i >= j; }}, causal_mask()));
  all.push_back(masked("causal, fewer queries than keys, ends aligned",
                       {1, 1, 3, 7, 2, 2, [](I, I, I i, I j) { return i + 4 >= j; }},
                       causal_mask(4)));
  all.push_back(masked("causal, the first two queries have no keys",
                       {1, 1, 5, 3, 2, 2, [](I, I, I i, I j) { return i - 2 >= j; }},
                       causal_mask(-2)));
}

void add_other_masks(Samples& all) {
  using I = std::int64_t;
  const auto padded = [](I b, I, I, I j) { return j < (b == 0 ? 5 : b == 1 ? 2 : 0); };
  all.push_back(masked("padding, one example is all padding", {3, 1, 2, 5, 2, 2, padded},
                       padding_mask({5, 2, 0})));
  all.push_back(masked("a dense mask for all examples",
                       {2, 2, 3, 5, 2, 1, [](I, I, I i, I j) { return dense_allows(0, 0, i, j); }},
                       dense_mask(reshape(dense(1, 1, 3, 5), {3, 5}))));
  all.push_back(
      masked("a dense mask for each example",
             {2, 2, 3, 5, 2, 1, [](I b, I, I i, I j) { return dense_allows(b, 0, i, j); }},
             dense_mask(reshape(dense(2, 1, 3, 5), {2, 3, 5}))));
  all.push_back(
      masked("a dense mask for each head",
             {2, 2, 3, 5, 2, 1, [](I, I h, I i, I j) { return dense_allows(0, h, i, j); }},
             dense_mask(dense(1, 2, 3, 5))));
  all.push_back(masked("dense masks for examples and heads", {2, 2, 3, 5, 2, 1, dense_allows},
                       dense_mask(dense(2, 2, 3, 5))));
  all.push_back(
      masked("causal & padding",
             {2, 1, 5, 5, 2, 2, [](I b, I, I i, I j) { return i >= j && j < (b == 0 ? 3 : 5); }},
             causal_mask() & padding_mask({3, 5})));
  all.push_back(masked(
      "causal | dense",
      {1, 2, 5, 5, 2, 2, [](I, I h, I i, I j) { return i >= j || dense_allows(0, h, i, j); }},
      causal_mask() | dense_mask(dense(1, 2, 5, 5))));
}

void add_patterns(Samples& all) {
  using I = std::int64_t;
  all.push_back(masked("a causal window",
                       {1, 2, 7, 7, 2, 3, [](I, I, I i, I j) { return j <= i && i <= j + 2; }},
                       window_mask(2)));
  all.push_back(masked("a window to both sides, more keys than queries",
                       {1, 1, 3, 7, 2, 2, [](I, I, I i, I j) { return j <= i + 2 && i <= j + 1; }},
                       window_mask(1, 2)));
  all.push_back(masked("a prefix of each example, then causal",
                       {2, 1, 5, 5, 2, 2, [](I b, I, I i, I j) { return j <= i || j < 3 * b; }},
                       causal_mask() | prefix_mask({0, 3})));
  all.push_back(masked("causal, aligned at the lower right",
                       {1, 2, 3, 5, 2, 1, [](I, I, I i, I j) { return j <= i + 2; }},
                       causal_lower_right(3, 5)));
  const BlockSparse blocks{.length = 7, .block = 2, .window = 0, .global = 1, .random = 0};
  all.push_back(
      masked("block-sparse, one global block and no window",
             {1, 2, 7, 7, 2, 2, [](I, I, I i, I j) { return i < 2 || j < 2 || i / 2 == j / 2; }},
             block_sparse_mask(blocks)));
  all.push_back(masked("a ring buffer, the first example shorter",
                       {2, 1, 2, 3, 2, 2,
                        [](I b, I, I i, I j) {
                          return b == 0 ? j <= i && j < 2 : i == 1 ? j != 2 : j != 1;
                        }},
                       remap_positions(window_mask(1), {{0, 1}, {3, 4}}, {{0, 1, -1}, {3, 4, 2}})));
}

/// Repeats each of the Hk key heads for each of its query heads.
template <class T>
List<T> for_each_query_head(const naive::Attention& a, std::int64_t Hk, const List<T>& x,
                            std::int64_t width) {
  List<T> y;
  for (std::int64_t bh = 0; bh < a.B * a.H; ++bh) {
    const std::int64_t from = (bh / a.H * Hk + bh % a.H / (a.H / Hk)) * a.S * width;
    for (std::int64_t i = 0; i < a.S * width; ++i) y.push_back(x[at(from + i)]);
  }
  return y;
}

Sample grouped(std::string what, const naive::Attention& a, std::int64_t Hk, const Mask& mask) {
  Sample sample = masked(std::move(what), a, mask);
  sample.inputs = {values({a.B, a.H, a.T, a.D}), values({a.B, Hk, a.S, a.D}, 1),
                   values({a.B, Hk, a.S, a.Dv}, 2)};
  sample.reference = [=]<class T>(const Arguments<T>& in) {
    return naive::attention(a, numbers(in[0]), for_each_query_head(a, Hk, numbers(in[1]), a.D),
                            for_each_query_head(a, Hk, numbers(in[2]), a.Dv));
  };
  return sample;
}

void add_grouped(Samples& all) {
  using I = std::int64_t;
  const auto causal = [](I, I, I i, I j) { return j <= i + 2; };
  all.push_back(grouped("two query heads for each of two key heads", {2, 4, 2, 3, 2, 3}, 2, {}));
  all.push_back(grouped("three query heads for one key head, causal", {1, 3, 3, 5, 2, 2, causal}, 1,
                        causal_mask(2)));
  all.push_back(grouped("grouped heads, a separate mask for each query head",
                        {2, 4, 3, 5, 2, 1, dense_allows}, 2, dense_mask(dense(2, 4, 3, 5))));
  all.push_back(
      grouped("grouped heads with their weights", {1, 4, 3, 5, 2, 2, causal}, 2, causal_mask(2)));
  all.back().op = "masked_fill";
  all.back().f = [](const Inputs& in) {
    return attention_with_weights(in[0], in[1], in[2], causal_mask(2)).output;
  };
}

void add_options(Samples& all) {
  const naive::Attention sizes{1, 2, 3, 5, 2, 2};
  const auto causal = [](std::int64_t, std::int64_t, std::int64_t i, std::int64_t j) {
    return i + 2 >= j;
  };

  naive::Attention scaled = sizes;
  scaled.scale = 0.3;
  all.push_back(masked("a given scale", scaled, {}));
  all.back().f = [](const Inputs& in) {
    AttentionOptions options;
    options.scale = 0.3;
    return scaled_dot_product_attention(in[0], in[1], in[2], {}, options);
  };

  const Tensor bias = values({2, 1, 5}, 3);
  naive::Attention biased = sizes;
  biased.allows = causal;
  all.push_back(
      masked("a constant bias, broadcast over examples and queries, and a mask", biased, {}));
  all.back().f = [bias](const Inputs& in) {
    AttentionOptions options;
    options.bias = bias.to(in[0].dtype());
    return scaled_dot_product_attention(in[0], in[1], in[2], causal_mask(2), options);
  };
  all.back().reference = [=, b = numbers(bias)]<class T>(const Arguments<T>& in) {
    const List<T> all_pairs = spread(List<T>(b.begin(), b.end()), biased);
    return naive::attention(biased, numbers(in[0]), numbers(in[1]), numbers(in[2]), all_pairs);
  };

  naive::Attention dropped = sizes;
  dropped.allows = causal;
  dropped.keep = dropping(0.3, 3, 5);
  all.push_back(masked("dropout and a mask", dropped, {}));
  all.back().f = [](const Inputs& in) {
    Generator seven(7);
    const GeneratorScope scope(seven);
    AttentionOptions options;
    options.dropout = 0.3;
    return scaled_dot_product_attention(in[0], in[1], in[2], causal_mask(2), options);
  };
}

void add_composed(Samples& all) {
  using I = std::int64_t;
  const naive::Attention causal{1, 2, 3, 7, 5, 2, [](I, I, I i, I j) { return i + 1 >= j; }};
  all.push_back(masked("attention with its weights, causal", causal, {}));
  all.back().op = "masked_fill";
  all.back().f = [](const Inputs& in) {
    return attention_with_weights(in[0], in[1], in[2], causal_mask(1)).output;
  };
}

/// Sets the last two rows of each head of x [1, 2, 5, width] to infinity.
Tensor hidden_tail(Tensor x) {
  const std::int64_t width = x.size(-1);
  List<double> v = numbers(x);
  for (std::int64_t i = 0; i < std::ssize(v); ++i)
    if (i / width % 5 >= 3) v[at(i)] = std::numeric_limits<double>::infinity();
  return tensor(v, x.shape());
}

/// Padding keys are infinite. A bias of −∞ hides all keys from query 1, and hides key 0 from query
/// 2.
void add_hidden(Samples& all) {
  naive::Attention a{1, 2, 3, 5, 4, 2};
  a.allows = [](auto, auto, auto i, auto j) {
    return j < 3 && i + 1 >= j && i != 1 && (i != 2 || j != 0);
  };
  a.keep = dropping(0.3, 3, 5);
  List<double> bias(15, 0.0);
  for (const std::size_t place : {5u, 6u, 7u, 8u, 9u, 10u})
    bias[place] = -std::numeric_limits<double>::infinity();
  all.push_back(masked("hidden keys and values are infinite", a, {}));
  all.back().f = [bias = tensor(bias, {3, 5})](const Inputs& in) {
    Generator seven(7);
    const GeneratorScope scope(seven);
    AttentionOptions options;
    options.dropout = 0.3;
    options.bias = bias.to(in[0].dtype());
    return scaled_dot_product_attention(in[0], in[1], in[2], padding_mask({3}) & causal_mask(1),
                                        options);
  };
  for (std::size_t k : {1u, 2u}) all.back().inputs[k] = hidden_tail(all.back().inputs[k]);
  all.back().differences = false;
}

/// A bias that requires a gradient selects the composed ops.
void add_learned_bias(Samples& all) {
  const naive::Attention sizes{1, 2, 3, 5, 4, 2};
  Inputs inputs = inputs_of(sizes);
  inputs.push_back(values({2, 1, 5}, 3));
  all.push_back({"softmax", "attention with a trainable bias, broadcast over the queries", inputs,
                 [](const Inputs& in) {
                   AttentionOptions options;
                   options.bias = in[3];
                   return scaled_dot_product_attention(in[0], in[1], in[2], causal_mask(1),
                                                       options);
                 },
                 [=]<class T>(const Arguments<T>& in) {
                   naive::Attention a = sizes;
                   a.allows = [](std::int64_t, std::int64_t, std::int64_t i, std::int64_t j) {
                     return i + 1 >= j;
                   };
                   return naive::attention(a, numbers(in[0]), numbers(in[1]), numbers(in[2]),
                                           spread(numbers(in[3]), a));
                 }});
}

void add_views(Samples& all) {
  all.push_back({"attention",
                 "heads as views of [B, T, H·D], one memory for keys and values",
                 {values({1, 3, 4}), values({1, 5, 4}, 1)},
                 [](const Inputs& in) {
                   const auto heads = [](const Tensor& x) {
                     return transpose(reshape(x, {1, x.size(1), 2, 2}), 1, 2);
                   };
                   const Tensor memory = heads(in[1]);
                   return scaled_dot_product_attention(heads(in[0]), memory, memory,
                                                       causal_mask(2));
                 },
                 []<class T>(const Arguments<T>& in) {
                   const List<T> q = naive::split_heads(numbers(in[0]), 1, 3, 2, 2, 4);
                   const List<T> m = naive::split_heads(numbers(in[1]), 1, 5, 2, 2, 4);
                   const auto causal = [](std::int64_t, std::int64_t, std::int64_t i,
                                          std::int64_t j) { return i + 2 >= j; };
                   return naive::attention({1, 2, 3, 5, 2, 2, causal}, q, m, m);
                 }});
  all.push_back({"attention",
                 "transposed keys and one expanded query",
                 {values({1, 1, 1, 3}), values({1, 1, 3, 5}, 1)},
                 [](const Inputs& in) {
                   const Tensor k = transpose(in[1]);  // [1, 1, 5, 3]
                   return scaled_dot_product_attention(expand(in[0], {1, 1, 2, 3}), k, k);
                 },
                 []<class T>(const Arguments<T>& in) {
                   const List<T> q = numbers(in[0]), k = naive::transpose(numbers(in[1]), 3, 5);
                   List<T> y = naive::attention(naive::Attention{1, 1, 1, 5, 3, 3}, q, k, k);
                   y.insert(y.end(), y.begin(), y.begin() + 3);
                   return y;
                 }});
}

Sample packed(std::string what, const naive::Attention& a, const Mask& mask, double dropout = 0) {
  return {
      "packed_attention",
      std::move(what),
      {values({a.B, a.T, 3 * a.H * a.D})},
      [=](const Inputs& in) {
        Generator seven(7);
        const GeneratorScope scope(seven);
        AttentionOptions options;
        options.dropout = dropout;
        return packed_self_attention(in[0], a.H, mask, options);
      },
      [=]<class T>(const Arguments<T>& in) { return naive::packed_attention(a, numbers(in[0])); }};
}

void add_packed(Samples& all) {
  using I = std::int64_t;
  all.push_back(packed("no mask", {1, 2, 5, 5, 2, 2}, {}));
  all.push_back(packed("all sizes 1", {1, 1, 1, 1, 1, 1}, {}));
  all.push_back(packed("no examples", {0, 2, 3, 3, 2, 2}, causal_mask()));
  all.push_back(packed("causal, odd width",
                       {2, 1, 3, 3, 3, 3, [](I, I, I i, I j) { return i >= j; }}, causal_mask()));
  all.push_back(packed("padding",
                       {2, 2, 3, 3, 1, 1, [](I b, I, I, I j) { return j < (b == 0 ? 3 : 1); }},
                       padding_mask({3, 1})));
  naive::Attention dropped{1, 2, 3, 3, 2, 2, [](I, I, I i, I j) { return i >= j; }};
  dropped.keep = dropping(0.4, 3, 3);
  all.push_back(packed("causal with dropout", dropped, causal_mask(), 0.4));
}

}  // namespace

Samples attention_samples() {
  Samples all;
  add_plain_masks(all);
  add_other_masks(all);
  add_patterns(all);
  add_grouped(all);
  add_options(all);
  add_composed(all);
  add_hidden(all);
  add_learned_bias(all);
  add_views(all);
  add_packed(all);
  for (Sample& sample : all)
    sample.function = sample.op == "packed_attention" ? "packed_self_attention"
                      : sample.op == "attention" || sample.op == "softmax"
                          ? "scaled_dot_product_attention"
                          : "attention_with_weights";
  return all;
}

}  // namespace gradus::testing
