// Compares attention layers with naive loops.
#include <cmath>
#include <functional>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/observer.h"
#include "gradus/nn/attention.h"
#include "gradus/nn/attention_record.h"
#include "gradus/nn/block.h"
#include "gradus/nn/cache.h"
#include "gradus/nn/extras/linear_attention.h"
#include "gradus/nn/transformer.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/create.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/members.h"
#include "gradus/ops/position_bias.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/unary.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/registry.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_attention {
namespace {

using naive::Numbers;
using naive::numbers;
using nn::MultiHeadAttention;

/// Returns the largest error in f32 ulps of the largest value. Two matmuls and a softmax each add a
/// few ulps.
double roundings(const Tensor& x, const Numbers& right) {
  const Numbers got = numbers(x);
  REQUIRE(got.size() == right.size());
  double worst = 0, scale = 1e-300;
  for (std::size_t i = 0; i < got.size(); ++i) {
    worst = std::max(worst, std::abs(got[i] - right[i]));
    scale = std::max(scale, std::abs(right[i]));
  }
  return worst / scale / 0x1p-24;
}

std::vector<float> tokens(const Tensor& x, std::int64_t first, std::int64_t last) {
  return slice(x, 1, first, last).to_vector<float>();
}

Tensor with_other_token(const Tensor& x, std::int64_t t) {
  Tensor y = x.clone();
  Tensor token = slice(y, 1, t, t + 1);
  token.copy_(randn({x.size(0), 1, x.size(2)}));
  return y;
}

}  // namespace

TEST_CASE("causal attention and blocks are bitwise independent of later tokens") {
  const std::int64_t T = 70, C = 8;
  const MultiHeadAttention layer({.width = C, .heads = 2});
  const nn::Block before({.width = C, .heads = 2});
  const nn::Block after({.width = C, .heads = 2, .norm = nn::NormPlacement::post});
  const Tensor x = randn({2, T, C});
  const auto check_no_leak = [&](const auto& module) {
    const Tensor y = module(x, causal_mask());
    for (const std::int64_t t : {1, 5, 63, 64, 69}) {
      const Tensor other = module(with_other_token(x, t), causal_mask());
      CHECK(tokens(other, 0, t) == tokens(y, 0, t));
      CHECK(tokens(other, t, T) != tokens(y, t, T));
    }
    CHECK(tokens(module(with_other_token(x, 5), Mask()), 0, 5) != tokens(module(x, Mask()), 0, 5));
  };
  check_no_leak(layer);
  check_no_leak(before);
  check_no_leak(after);
}

TEST_CASE("values in padding do not change the outputs of attention") {
  const MultiHeadAttention layer({.width = 4, .heads = 2});
  const Tensor x = randn({2, 5, 4});
  const Mask mask = padding_mask({5, 3});
  const Tensor y = layer(x, mask);
  const Tensor other = layer(with_other_token(with_other_token(x, 3), 4), mask);
  const auto example = [](const Tensor& z, std::int64_t b) { return slice(z, 0, b, b + 1); };
  CHECK(tokens(example(other, 1), 0, 3) == tokens(example(y, 1), 0, 3));
  CHECK(tokens(example(other, 0), 0, 3) != tokens(example(y, 0), 0, 3));
}

TEST_CASE("cross-attention token by token equals cross-attention of all tokens") {
  const NoGrad off;
  const Tensor x = randn({2, 4, 6}), memory = randn({2, 5, 5});
  // 1e-5 allows for two successive f32 sums of about ten terms of order 1.
  const auto close = [](const Tensor& a, const Tensor& b) { return max(abs(a - b)).item() < 1e-5; };
  for (const nn::HeadPosition position :
       {nn::HeadPosition::none, nn::HeadPosition::alibi, nn::HeadPosition::relative}) {
    nn::CrossAttention layer({.width = 6, .heads = 2, .memory_width = 5, .position = position});
    if (position == nn::HeadPosition::relative) layer.relative.weight.copy_(randn({32, 2}));
    const Tensor all_tokens = layer(x, memory, causal_mask());
    nn::KVCache cache({.capacity = 4});
    for (std::int64_t t = 0; t < 4; ++t) {
      cache.advance(2, 1);
      const Tensor given = t == 0 ? memory : zeros({2, 5, 5});  // the cache keeps the first memory
      CHECK(close(layer(slice(x, 1, t, t + 1), given, causal_mask(), &cache),
                  slice(all_tokens, 1, t, t + 1)));
    }
    nn::KVCache ragged({.capacity = 3});
    ragged.advance(2, 3, {3, 2});  // the second example starts with padding
    const Tensor together = layer(slice(x, 1, 0, 3), memory, Mask(), &ragged);
    const Tensor last = slice(x, 0, 1, 2), alone = slice(memory, 0, 1, 2);
    CHECK(close(slice(slice(together, 0, 1, 2), 1, 1, 3), layer(slice(last, 1, 1, 3), alone)));
  }
}

TEST_CASE("a stack without a final norm equals its blocks") {
  const nn::BlockOptions block{.width = 4, .heads = 2};
  const nn::Encoder encoder({.block = block, .final_norm = false});
  const nn::Decoder decoder({.block = block, .final_norm = false});
  const Tensor x = randn({2, 5, 4}), memory = randn({2, 3, 4});
  CHECK(numbers(encoder(x)) == numbers(encoder.blocks[0](x)));
  CHECK(numbers(decoder(x, memory)) == numbers(decoder.blocks[0](x, memory)));
}

TEST_CASE("cross-attention ignores the order of the memory for every position type") {
  for (const nn::HeadPosition position :
       {nn::HeadPosition::alibi, nn::HeadPosition::relative, nn::HeadPosition::rotary}) {
    const nn::DecoderBlock block({.width = 8, .heads = 2, .head = {.position = position}});
    const Tensor x = randn({2, 5, 8}), memory = randn({2, 4, 8});
    const Tensor turned = cat({slice(memory, 1, 2, 4), slice(memory, 1, 0, 2)}, 1);
    CHECK(roundings(block(x, turned), numbers(block(x, memory))) < 64);
  }
}

TEST_CASE("split_heads and merge_heads are inverse") {
  const Tensor x = randn({2, 3, 6});
  const Tensor heads = nn::split_heads(x, 3);
  CHECK(heads.shape() == Shape{2, 3, 3, 2});
  CHECK(heads.storage() == x.storage());
  CHECK(numbers(heads) == naive::split_heads(numbers(x), 2, 3, 3, 2, 6));
  CHECK(numbers(nn::merge_heads(heads)) == numbers(x));
  CHECK_REFUSES(ShapeError, nn::split_heads(x, 4), "[2, 3, 6]", "4");
  CHECK_THROWS_AS(nn::split_heads(ones({3, 6}), 3), ShapeError);
  CHECK_THROWS_AS(nn::merge_heads(x), ShapeError);
}

namespace {

constexpr double kDropout = 0.4;

Tensor heads_of(const Tensor& x, std::int64_t heads) {  // [B, T, H · D] → [B, H, T, D]
  return permute(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), {0, 2, 1, 3});
}

Tensor merged(const Tensor& heads) {  // the inverse
  const Tensor y = permute(heads, {0, 2, 1, 3}).contiguous();
  return reshape(y, {y.size(0), y.size(1), y.size(2) * y.size(3)});
}

Tensor columns(const Tensor& x, std::int64_t begin, std::int64_t end) {
  return slice(x, 2, begin, end);
}

template <class Layer>
void check_layer(Layer& layer, const std::function<Tensor()>& run,
                 const std::function<Tensor(const AttentionOptions& how)>& by_hand) {
  const auto drawn = [](const std::function<Tensor()>& f) {
    seed(7);
    return numbers(f());
  };
  layer.train();
  const Numbers training = drawn(run);
  CHECK(near(training, drawn([&] { return by_hand({.dropout = kDropout, .training = true}); }),
             1e-12));
  layer.eval();
  const Numbers evaluated = drawn(run);
  CHECK(near(evaluated, drawn([&] { return by_hand({}); }), 1e-12));
  CHECK_FALSE(near(evaluated, training, 1e-3));
}

const Tensor kX = values({2, 5, 8}), kMemory = values({2, 3, 6}, 1);

}  // namespace

TEST_CASE("MultiHeadAttention drops weights in training only") {
  seed(3);
  nn::MultiHeadAttention layer({.width = 8, .heads = 4, .kv_heads = 2, .dropout = kDropout});
  layer.to(Dtype::f64);
  check_layer(
      layer, [&] { return layer(kX, causal_mask()); },
      [&](const AttentionOptions& how) {
        const Tensor qkv = layer.qkv_proj(kX);  // 8 columns of queries, 4 of keys, 4 of values
        return layer.out_proj(merged(scaled_dot_product_attention(
            heads_of(columns(qkv, 0, 8), 4), heads_of(columns(qkv, 8, 12), 2),
            heads_of(columns(qkv, 12, 16), 2), causal_mask(), how)));
      });
}

TEST_CASE("CrossAttention honors heads and positions and drops weights in training") {
  for (const nn::HeadPosition position : {nn::HeadPosition::none, nn::HeadPosition::alibi}) {
    seed(3);
    nn::CrossAttention layer({.width = 8,
                              .heads = 4,
                              .memory_width = 6,
                              .kv_heads = 2,
                              .dropout = kDropout,
                              .position = position});
    layer.to(Dtype::f64);
    check_layer(
        layer, [&] { return layer(kX, kMemory); },
        [&](AttentionOptions how) {
          if (position == nn::HeadPosition::alibi)
            how.bias = alibi_bias(4, std::vector<std::int64_t>{0, 1, 2, 3, 4},
                                  std::vector<std::int64_t>{0, 1, 2}, 0, Dtype::f64);
          return layer.out_proj(merged(scaled_dot_product_attention(
              heads_of(layer.q_proj(kX), 4), heads_of(layer.k_proj(kMemory), 2),
              heads_of(layer.v_proj(kMemory), 2), {}, how)));
        });
  }
}

TEST_CASE("SelfAttention drops weights in training only") {
  seed(3);
  nn::SelfAttention layer(8, {.key_width = 3, .value_width = 5, .dropout = kDropout});
  layer.to(Dtype::f64);
  check_layer(
      layer, [&] { return layer(kX, causal_mask()); },
      [&](const AttentionOptions& how) {
        return merged(scaled_dot_product_attention(
            heads_of(layer.q_proj(kX), 1), heads_of(layer.k_proj(kX), 1),
            heads_of(layer.v_proj(kX), 1), causal_mask(), how));
      });
}

TEST_CASE("LinformerAttention honors heads and biases and drops weights in training") {
  for (const bool bias : {true, false}) {
    seed(3);
    nn::LinformerAttention layer(
        {.width = 8, .heads = 2, .length = 5, .reduced = 3, .dropout = kDropout, .bias = bias});
    CHECK((layer.qkv_proj.bias.defined() == bias && layer.out_proj.bias.defined() == bias));
    layer.to(Dtype::f64);
    check_layer(
        layer, [&] { return layer(kX); },
        [&](const AttentionOptions& how) {
          const Tensor qkv = layer.qkv_proj(kX);
          const Tensor k = matmul(layer.key_map, heads_of(columns(qkv, 8, 16), 2));
          const Tensor v = matmul(layer.value_map, heads_of(columns(qkv, 16, 24), 2));
          return layer.out_proj(
              merged(scaled_dot_product_attention(heads_of(columns(qkv, 0, 8), 2), k, v, {}, how)));
        });
  }
}

}  // namespace gradus::testing::test_attention
