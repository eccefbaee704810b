// A cache by itself: copies that go on apart, plain lists of positions, rows in less room.
#include "gradus/engine/grad_mode.h"
#include "gradus/nn/cache.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/linear_attention.h"
#include "gradus/nn/scoring.h"
#include "gradus/nn/sequential.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing {
namespace {

using List = std::vector<std::int64_t>;

/// One token of one example and one head, two wide.
nn::KeysValues token(float value) {
  return {full({1, 1, 1, 2}, value, Dtype::f32), full({1, 1, 1, 2}, -value, Dtype::f32)};
}

std::vector<float> extended(nn::KVCache& cache, const Named& layer, float value) {
  const nn::KeysValues fresh = token(value);
  cache.advance(1, 1);
  const nn::KeysValues all = cache.extend(layer, fresh.keys, fresh.values);
  std::vector<float> out;
  for (std::int64_t s = 0; s < all.keys.size(2); ++s) {
    out.push_back(all.keys.to_vector<float>()[static_cast<std::size_t>(2 * s)]);
    CHECK(all.values.to_vector<float>()[static_cast<std::size_t>(2 * s + 1)] == -out.back());
  }
  return out;
}

}  // namespace

TEST_CASE("a cache and its copy go on apart") {
  const NoGrad off;
  const nn::Linear layer(1, 1);
  for (const bool sliding : {false, true}) {
    nn::KVCache cache({.capacity = 3, .sliding = sliding});
    extended(cache, layer, 1);
    nn::KVCache copy = cache;
    CHECK(extended(copy, layer, 2) == std::vector<float>{1, 2});
    CHECK(extended(cache, layer, 3) == std::vector<float>{1, 3});
    CHECK(extended(copy, layer, 4) == std::vector<float>{1, 2, 4});
    CHECK(extended(cache, layer, 5) == std::vector<float>{1, 3, 5});
    if (!sliding) continue;
    nn::KVCache third = cache;
    CHECK(extended(third, layer, 6) == std::vector<float>{6, 3, 5});
    CHECK(extended(cache, layer, 7) == std::vector<float>{7, 3, 5});
  }
}

TEST_CASE("positions as plain lists are those of one example while all are alike") {
  nn::KVCache cache({.capacity = 9});
  cache.advance(2, 2);
  CHECK(cache.flat().examples == 0);
  CHECK(cache.flat().queries == List{0, 1});
  CHECK(cache.flat().keys == List{0, 1});
  cache.advance(2, 2, {2, 1});
  CHECK(cache.flat().examples == 2);
  CHECK(cache.flat().queries == List{2, 3, 0, 2});
  CHECK(cache.flat().keys == List{0, 1, 2, 3, 0, 1, 0, 2});
  cache.advance(2, 2, {1, 2});
  CHECK(cache.flat().queries == List{0, 4, 3, 4});
  cache.advance(2, 1);  // the same position now, behind other keys
  CHECK(cache.flat().examples == 2);
  CHECK(cache.flat().queries == List{5, 5});
  nn::KVCache one({.capacity = 2});
  one.advance(1, 2, {1});
  CHECK(one.flat().examples == 0);
  CHECK(one.flat().queries == List{0, 0});
}

TEST_CASE("a cache in less room takes keys in any order of memory, and rows of any width") {
  const NoGrad off;
  const nn::Linear layer(1, 1);
  for (const std::int64_t D : {1, 4, 7, 32, 40})
    for (const Precision precision : {Precision::bf16, Precision::f16}) {
      CAPTURE(D);
      nn::KVCache cache({.capacity = 3, .precision = precision});
      const Tensor plain = reshape(arange(0, 2 * D), {1, 1, 2, D}).to(Dtype::f32);
      const Tensor turned = transpose(transpose(plain, 2, 3).clone(), 2, 3);
      cache.advance(1, 2);
      const nn::KeysValues all = cache.extend(layer, turned, plain);
      CHECK(all.keys.to_vector<float>() == plain.to_vector<float>());
      CHECK(all.values.to_vector<float>() == plain.to_vector<float>());
      cache.advance(1, 1);
      const Tensor more = full({1, 1, 1, D}, 3.0, Dtype::f32);
      const nn::KeysValues longer = cache.extend(layer, more, more);
      CHECK(slice(longer.keys, 2, 0, 2).to_vector<float>() == plain.to_vector<float>());
    }
}

TEST_CASE("weights of a mask that hides nothing, and of one that hides") {
  const Tensor scores = reshape(tensor({0.0, 0.0, 1.0, 1.0}, Dtype::f64), {1, 2, 2}),
               values = reshape(tensor({2.0, 4.0}, Dtype::f64), {1, 2, 1});
  const AttentionOutput all = nn::weighted_values(scores, values);
  CHECK(all.weights.to_vector<double>() == std::vector<double>{0.5, 0.5, 0.5, 0.5});
  CHECK(all.output.to_vector<double>() == std::vector<double>{3, 3});
  const AttentionOutput causal = nn::weighted_values(scores, values, causal_mask());
  CHECK(causal.weights.to_vector<double>() == std::vector<double>{1, 0, 0.5, 0.5});
  CHECK(causal.output.to_vector<double>() == std::vector<double>{2, 3});
}

TEST_CASE("a pooling layer gives a vector and weights for each example") {
  nn::AttentionPooling pooling(3);
  const AttentionOutput all = pooling.with_weights(ones({2, 4, 3}));
  CHECK(all.output.shape() == Shape{2, 3});
  CHECK(all.weights.shape() == Shape{2, 4});
  for (const float w : all.weights.to_vector<float>()) CHECK(w == Approx(0.25));
  CHECK(pooling.clone().query.shape() == Shape{3});
}

}  // namespace gradus::testing
