// What attention layers ask of attention itself: heads, positions, and dropout of the weights in
// training, against the same written out with the operations.
#include <cmath>
#include <functional>

#include "gradus/base/random.h"
#include "gradus/nn/attention.h"
#include "gradus/nn/linear_attention.h"
#include "gradus/nn/norm.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/create.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/position_bias.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

constexpr double kDropout = 0.4;

Tensor heads_of(const Tensor& x, std::int64_t heads) {  // [B, T, H · D] → [B, H, T, D]
  return permute(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), {0, 2, 1, 3});
}

Tensor beside(const Tensor& heads) {  // and back
  const Tensor y = permute(heads, {0, 2, 1, 3}).contiguous();
  return reshape(y, {y.size(0), y.size(1), y.size(2) * y.size(3)});
}

Tensor columns(const Tensor& x, std::int64_t begin, std::int64_t end) {
  return slice(x, 2, begin, end);
}

/// In training and in evaluation: `layer` gives what is written out, with the same random numbers.
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

TEST_CASE("multi-head attention drops weights in training, and only there") {
  seed(3);
  nn::MultiHeadAttention layer({.width = 8, .heads = 4, .kv_heads = 2, .dropout = kDropout});
  layer.to(Dtype::f64);
  check_layer(
      layer, [&] { return layer(kX, causal_mask()); },
      [&](const AttentionOptions& how) {
        const Tensor qkv = layer.qkv_proj(kX);  // 8 columns of queries, 4 of keys, 4 of values
        return layer.out_proj(beside(scaled_dot_product_attention(
            heads_of(columns(qkv, 0, 8), 4), heads_of(columns(qkv, 8, 12), 2),
            heads_of(columns(qkv, 12, 16), 2), causal_mask(), how)));
      });
}

TEST_CASE("cross-attention has its heads, its positions, and drops weights in training") {
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
          return layer.out_proj(beside(scaled_dot_product_attention(
              heads_of(layer.q_proj(kX), 4), heads_of(layer.k_proj(kMemory), 2),
              heads_of(layer.v_proj(kMemory), 2), {}, how)));
        });
  }
}

TEST_CASE("self-attention of one head drops weights in training, and only there") {
  seed(3);
  nn::SelfAttention layer(8, {.key_width = 3, .value_width = 5, .dropout = kDropout});
  layer.to(Dtype::f64);
  check_layer(
      layer, [&] { return layer(kX, causal_mask()); },
      [&](const AttentionOptions& how) {
        return beside(scaled_dot_product_attention(
            heads_of(layer.q_proj(kX), 1), heads_of(layer.k_proj(kX), 1),
            heads_of(layer.v_proj(kX), 1), causal_mask(), how));
      });
}

TEST_CASE("a Linformer has its heads and its biases, and drops weights in training") {
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
              beside(scaled_dot_product_attention(heads_of(columns(qkv, 0, 8), 2), k, v, {}, how)));
        });
  }
}

TEST_CASE("a batch norm adds its own eps to the variance") {
  nn::BatchNorm1d layer(2, {.eps = 3, .affine = false});
  layer.to(Dtype::f64);
  // variances 1 and 4, so the roots are 2 and √7
  const Tensor x = tensor(Numbers{1, 2, -1, -2}, {2, 2});
  CHECK(near(numbers(layer(x)), {0.5, 2 / std::sqrt(7.0), -0.5, -2 / std::sqrt(7.0)}, 1e-12));
}

}  // namespace gradus::testing
