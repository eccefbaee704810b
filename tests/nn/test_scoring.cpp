// Tests scores, pooling, entropy, Conv1d and linear attention.
#include "gradus/nn/scoring.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gradus/nn/extras/conv.h"
#include "gradus/nn/extras/linear_attention.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing {

using naive::numbers;

TEST_CASE("weighted values of scaled dot scores equal attention") {
  const Tensor q = randn({2, 3, 4}, Dtype::f64), k = randn({2, 5, 4}, Dtype::f64),
               v = randn({2, 5, 3}, Dtype::f64);
  for (const Mask& mask : {Mask(), causal_mask(1), padding_mask({5, 2})}) {
    const AttentionOutput found = nn::weighted_values(nn::DotScore()(q, k), v, mask);
    const AttentionOutput right =
        attention_with_weights(unsqueeze(q, 1), unsqueeze(k, 1), unsqueeze(v, 1), mask);
    CHECK(max(abs(found.output - squeeze(right.output, 1))).item() < 1e-14);
    CHECK(max(abs(found.weights - squeeze(right.weights, 1))).item() < 1e-14);
  }
  CHECK_REFUSES(ShapeError, nn::weighted_values(nn::DotScore()(q, k), v, padding_mask({5})),
                "padding_mask", "batch of 2");
}

TEST_CASE("pooling ignores padding, and pooling of an empty sequence is 0 with gradient 0") {
  const nn::AttentionPooling pool(3);
  Tensor x = randn({3, 5, 3});
  slice(x, 1, 4, 5).fill_(std::numeric_limits<double>::quiet_NaN());
  x.requires_grad_();
  const AttentionOutput found = pool.with_weights(x, padding_mask({4, 2, 0}));
  CHECK(found.output.shape() == Shape{3, 3});
  CHECK(found.weights.shape() == Shape{3, 5});
  const std::vector<double> w = numbers(found.weights);
  for (const std::size_t place : {4u, 7u, 8u, 9u, 10u, 14u}) CHECK(w[place] == 0);
  CHECK(std::abs(w[0] + w[1] + w[2] + w[3] - 1) < 1e-6);
  for (const std::size_t place : {6u, 7u, 8u}) CHECK(numbers(found.output)[place] == 0);
  sum(square(found.output)).backward();
  const std::vector<double> dx = numbers(x.grad());
  for (std::size_t i = 0; i < dx.size(); ++i) CHECK((dx[i] == 0) == (i / 3 == 4 || i / 3 >= 7));
  CHECK(std::isfinite(sum(pool.query.grad()).item()));
}

TEST_CASE("entropy ranges from 0 to the logarithm of the number of keys") {
  const Tensor logits = zeros({1, 1, 2, 5}).requires_grad_();
  const Tensor weights = softmax(logits);
  const Tensor entropy = attention_entropy(weights);
  CHECK(entropy.shape() == Shape{1, 1, 2});
  CHECK(std::abs(entropy.to_vector<float>()[0] - std::log(5.0f)) < 1e-6f);
  sum(entropy).backward();  // the entropy is at its maximum
  for (const double each : numbers(logits.grad())) CHECK(std::abs(each) < 1e-6);
  CHECK(attention_entropy(tensor({0, 1, 0})).item() == 0);
  const std::vector<std::int64_t> queries = {2, 4}, keys = {0, 1, 2, 3, 4};
  CHECK(numbers(mean_attention_distance(weights, queries, keys)) ==
        numbers(tensor({{{1.2f, 2.0f}}})));  // means of 2 1 0 1 2 and of 4 3 2 1 0
}

TEST_CASE("a causal Conv1d keeps its length and ignores later inputs") {
  const nn::Conv1d layer(4, 6, 3, {.groups = 2, .causal = true});
  CHECK(layer.weight.shape() == Shape{6, 2, 3});
  const Tensor x = randn({1, 4, 9});
  const Tensor y = layer(x);
  CHECK(y.shape() == Shape{1, 6, 9});
  Tensor other = x.clone();
  slice(other, 2, 5, 6).fill_(7);
  CHECK(numbers(slice(layer(other), 2, 0, 5)) == numbers(slice(y, 2, 0, 5)));
  CHECK(numbers(slice(layer(other), 2, 5, 6)) != numbers(slice(y, 2, 5, 6)));
  CHECK(nn::Conv1d(4, 6, 3, {.groups = 2, .bias = false}).clone().weight.shape() == Shape{6, 2, 3});
}

TEST_CASE("a performer saves its features, and padding does not change its results") {
  const nn::LinearAttention performer(
      {.width = 4, .heads = 2, .kind = nn::LinearAttentionKind::performer});
  CHECK(performer.features.shape() == Shape{4, 2});
  CHECK(performer.buffers().size() == 1);
  const nn::LinearAttention copy = performer.clone();
  const Tensor x = randn({2, 5, 4});
  CHECK(numbers(copy(x)) == numbers(performer(x)));
  const nn::LinearAttention plain({.width = 4, .heads = 2});
  const nn::LinformerAttention reduced({.width = 4, .heads = 2, .length = 7, .reduced = 2});
  Tensor other = x.clone();
  slice(slice(other, 0, 1, 2), 1, 3, 5).fill_(9);
  const std::vector<std::int64_t> lengths = {5, 3};
  const auto kept = [&](const Tensor& y) { return numbers(slice(slice(y, 0, 1, 2), 1, 0, 3)); };
  CHECK(kept(plain(x, lengths)) == kept(plain(other, lengths)));
  CHECK(kept(performer(x, lengths)) == kept(performer(other, lengths)));
  CHECK(kept(reduced(x, lengths)) == kept(reduced(other, lengths)));
  CHECK(kept(reduced(x)) != kept(reduced(other)));
}

}  // namespace gradus::testing
