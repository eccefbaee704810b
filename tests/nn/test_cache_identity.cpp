// Whose keys a cache holds: a layer's own, wherever the layer goes, and nobody else's.
#include <cmath>
#include <optional>
#include <vector>

#include "gradus/engine/grad_mode.h"
#include "gradus/nn/attention.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/catch.h"

namespace gradus {
namespace {

nn::MultiHeadAttention attention() {
  nn::MultiHeadAttention layer({.width = 8, .heads = 2});
  layer.eval();
  return layer;
}

Tensor call(const nn::MultiHeadAttention& layer, nn::KVCache& cache) {
  cache.advance(1, 2);
  return layer(ones({1, 2, 8}), causal_mask(), &cache);
}

}  // namespace

TEST_CASE("a layer made at the address of another does not read the other's keys") {
  const NoGrad off;
  nn::KVCache cache({.capacity = 8});
  std::optional<nn::MultiHeadAttention> layer(attention());
  call(*layer, cache);
  layer.emplace(attention());
  CHECK_THROWS_AS(call(*layer, cache), GraphError);
}

TEST_CASE("a layer that moves goes on with its own keys") {
  const NoGrad off;
  nn::KVCache cache({.capacity = 8}), other({.capacity = 8});
  nn::MultiHeadAttention layer = attention();
  call(layer, cache);
  call(layer, other);
  const std::vector<float> expected = call(layer, other).to_vector<float>();
  const nn::MultiHeadAttention moved = std::move(layer);
  CHECK(call(moved, cache).to_vector<float>() == expected);
}

TEST_CASE("a copy of a layer has keys of its own") {
  const NoGrad off;
  nn::KVCache cache({.capacity = 8});
  const nn::MultiHeadAttention layer = attention();
  call(layer, cache);
  CHECK_THROWS_AS(call(layer.clone(), cache), GraphError);
}

TEST_CASE("a cache refuses to select no example, and works on") {
  const NoGrad off;
  nn::KVCache cache({.capacity = 8});
  const nn::MultiHeadAttention layer = attention();
  call(layer, cache);
  CHECK_THROWS_AS(cache.select({}), ShapeError);
  CHECK(cache.batch() == 1);
  call(layer, cache);
  CHECK(cache.size() == 4);
}

TEST_CASE("selected examples keep their keys, and have room for more") {
  const NoGrad off;
  nn::KVCache cache({.capacity = 8}), alone({.capacity = 8});
  const nn::MultiHeadAttention layer = attention();
  const Tensor first = randn({3, 2, 8}), next = randn({1, 2, 8});
  cache.advance(3, 2);
  static_cast<void>(layer(first, causal_mask(), &cache));
  cache.select({2});
  cache.advance(1, 2);
  const Tensor y = layer(next, causal_mask(), &cache);
  alone.advance(1, 2);
  static_cast<void>(layer(first.slice(0, 2, 3), causal_mask(), &alone));
  alone.advance(1, 2);
  const Tensor expected = layer(next, causal_mask(), &alone);
  const std::vector<float> a = y.to_vector<float>(), b = expected.to_vector<float>();
  for (std::size_t i = 0; i < a.size(); ++i)
    CHECK(std::abs(a[i] - b[i]) < 1e-5);  // values of order 1, sums of a few tens of terms in f32
}

}  // namespace gradus
