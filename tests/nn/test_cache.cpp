#include <cmath>
#include <optional>
#include <vector>

#include "gradus/engine/grad_mode.h"
#include "gradus/nn/attention.h"
#include "gradus/nn/cache.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_cache {
namespace {

std::string list(const Positions& all) {
  std::string text;
  for (const auto& each : all) {
    text += "[";
    for (const std::int64_t position : each) text += str_cat(" ", position);
    text += " ]";
  }
  return text;
}

}  // namespace

TEST_CASE("a cache accepts exactly the documented arguments") {
  const NoGrad off;
  const nn::Linear layer(1, 1), other(1, 1);
  using Cache = nn::KVCache;
  const auto advanced = [](std::int64_t batch, std::int64_t tokens,
                           const std::vector<std::int64_t>& lengths = {}, bool sliding = false) {
    Cache cache({.capacity = 3, .sliding = sliding});
    cache.advance(batch, tokens, lengths);
    return list(cache.keys());
  };
  const auto then = [](std::int64_t batch, std::int64_t tokens) {
    Cache cache({.capacity = 3});
    cache.advance(2, 2);
    cache.advance(batch, tokens);
    return list(cache.queries()) + list(cache.keys());
  };
  const auto extended = [&](const Shape& keys, bool records = false) {
    Cache cache({.capacity = 3});
    cache.advance(2, 2);
    const GradMode mode(records);
    return str_cat(cache.extend(layer, ones(keys), ones(keys)).keys.shape());
  };
  const auto selected = [](const std::vector<std::int64_t>& examples) {
    Cache cache({.capacity = 4});
    cache.advance(3, 2, {2, 1, 0});
    cache.select(examples);
    return str_cat(cache.batch(), " of ", cache.length(), ": ", list(cache.queries()), " look at ",
                   list(cache.keys()));
  };
  Cache fresh({.capacity = 3}), missed({.capacity = 3});
  missed.advance(1, 1);
  const Tensor one = ones({1, 1, 1, 1});
  missed.extend(layer, one, one);
  missed.advance(1, 1);
  CHECK_REFUSES(ValueError, Cache({.capacity = 0}), "KVCache", "0");
  CHECK_REFUSES(ValueError, Cache({.capacity = -1}), "KVCache", "-1");
  CHECK_NOTHROW(Cache({.capacity = 1}));
  CHECK_REFUSES(ShapeError, advanced(0, 1), "KVCache", "1");
  CHECK_REFUSES(ShapeError, advanced(1, 0), "KVCache", "0");
  CHECK_REFUSES(ShapeError, advanced(-1, 1), "KVCache", "-1");
  CHECK(advanced(1, 1) == "[ 0 ]");
  CHECK(advanced(2, 3) == "[ 0 1 2 ][ 0 1 2 ]");
  CHECK_REFUSES(ShapeError, advanced(2, 4), "KVCache", "4");
  CHECK(advanced(1, 4, {}, true) == "[ 0 1 2 3 ]");
  CHECK_REFUSES(ShapeError, advanced(2, 2, {1}), "KVCache", "1");
  CHECK_REFUSES(ShapeError, advanced(2, 2, {1, 2, 1}), "KVCache", "3");
  CHECK_REFUSES(ValueError, advanced(2, 2, {-1, 2}), "KVCache", "-1");
  CHECK_REFUSES(ValueError, advanced(2, 2, {3, 2}), "KVCache", "3");
  CHECK(advanced(2, 2, {0, 2}) == "[ -1 -1 ][ 0 1 ]");
  CHECK_REFUSES(ShapeError, then(1, 1), "KVCache", "1");
  CHECK_REFUSES(ShapeError, then(3, 1), "KVCache", "3");
  CHECK(then(2, 1) == "[ 2 ][ 2 ][ 0 1 2 ][ 0 1 2 ]");
  CHECK_REFUSES(ShapeError, then(2, 2), "KVCache", "2");
  CHECK_REFUSES(ShapeError, extended({2, 1, 2}), "KVCache", "[2, 1, 2]");
  CHECK_REFUSES(ShapeError, extended({1, 1, 2, 1}), "KVCache", "[1, 1, 2, 1]");
  CHECK_REFUSES(ShapeError, extended({2, 1, 1, 1}), "KVCache", "[2, 1, 1, 1]");
  CHECK(extended({2, 1, 2, 1}) == "[2, 1, 2, 1]");
  CHECK_REFUSES(GraphError, extended({2, 1, 2, 1}, true), "KVCache", "recorded");
  CHECK_REFUSES(IndexError, selected({-1}), "KVCache", "-1");
  CHECK_REFUSES(IndexError, selected({3}), "KVCache", "3");
  CHECK_REFUSES(ShapeError, selected({}), "KVCache");
  CHECK(selected({2, 2, 0, 1}) ==
        "4 of 2: [ -1 -1 ][ -1 -1 ][ 0 1 ][ -1 0 ] look at [ -1 -1 ][ -1 -1 ][ 0 1 ][ -1 0 ]");
  CHECK(selected({1, 2}) == "2 of 1: [ -1 0 ][ -1 -1 ] look at [ -1 0 ][ -1 -1 ]");
  CHECK_REFUSES(GraphError, fresh.flat_positions(), "KVCache", "advance");
  CHECK_REFUSES(GraphError, fresh.extend(layer, one, one), "KVCache", "advance");
  CHECK(fresh.length() == 0);
  CHECK(fresh.batch() == 0);
  CHECK(fresh.cross(layer) == nullptr);
  CHECK_REFUSES(GraphError, missed.extend(other, one, one), "KVCache", "0");
  CHECK_NOTHROW(missed.extend(layer, one, one));
  CHECK_REFUSES(GraphError, missed.extend(layer, one, one), "KVCache", "2");
}

TEST_CASE("a cached memory requires NoGrad and is reused") {
  nn::KVCache cache({.capacity = 4});
  const nn::CrossAttention layer({.width = 4, .heads = 2}), other({.width = 4, .heads = 2});
  const Tensor x = ones({2, 1, 4}), memory = ones({2, 3, 4});
  cache.advance(2, 1);
  CHECK_REFUSES(GraphError, layer(x, memory, Mask(), &cache), "recorded", "NoGrad");
  const NoGrad off;
  layer(x, memory, Mask(), &cache);
  REQUIRE(cache.cross(layer));
  CHECK(cache.cross(other) == nullptr);
  CHECK(cache.cross(layer)->keys.shape() == Shape{2, 2, 3, 2});
  for (const Shape& shape : {Shape{2, 2, 4}, Shape{2, 4, 4}})
    CHECK_REFUSES(ShapeError, layer(x, ones(shape), Mask(), &cache), "memory of 2 examples",
                  str_cat(shape));
  CHECK_REFUSES(ShapeError, layer(ones({1, 1, 4}), memory, Mask(), &cache), "2 examples");
  cache.select({1});
  CHECK(cache.cross(layer)->keys.shape() == Shape{1, 2, 3, 2});
}

TEST_CASE("a packed cache accepts keys of any strides and rows of any width") {
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

TEST_CASE("a layer does not read the keys of a destroyed layer at its address") {
  const NoGrad off;
  nn::KVCache cache({.capacity = 8});
  std::optional<nn::MultiHeadAttention> layer(attention());
  call(*layer, cache);
  layer.emplace(attention());
  CHECK_THROWS_AS(call(*layer, cache), GraphError);
}

TEST_CASE("a moved layer keeps its own keys") {
  const NoGrad off;
  nn::KVCache cache({.capacity = 8}), other({.capacity = 8});
  nn::MultiHeadAttention layer = attention();
  call(layer, cache);
  call(layer, other);
  const std::vector<float> expected = call(layer, other).to_vector<float>();
  const nn::MultiHeadAttention moved = std::move(layer);
  CHECK(call(moved, cache).to_vector<float>() == expected);
}

TEST_CASE("a copy of a layer has its own keys") {
  const NoGrad off;
  nn::KVCache cache({.capacity = 8});
  const nn::MultiHeadAttention layer = attention();
  call(layer, cache);
  CHECK_THROWS_AS(call(layer.clone(), cache), GraphError);
}

TEST_CASE("a cache rejects an empty selection and keeps working") {
  const NoGrad off;
  nn::KVCache cache({.capacity = 8});
  const nn::MultiHeadAttention layer = attention();
  call(layer, cache);
  CHECK_THROWS_AS(cache.select({}), ShapeError);
  CHECK(cache.batch() == 1);
  call(layer, cache);
  CHECK(cache.size() == 4);
}

TEST_CASE("selected examples keep their keys and have capacity for more") {
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
    CHECK(std::abs(a[i] - b[i]) < 1e-5);  // f32 sums of tens of terms of order 1
}

}  // namespace gradus::testing::test_cache
