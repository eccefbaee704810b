// A cache that packs its numbers against one that does not, over several examples and heads; and
// what caches refuse at their borders.
#include "gradus/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/nn/attention.h"
#include "gradus/nn/cache.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing {
namespace {

/// Whole numbers to 127, which bf16, f16 and, beside a 127, int8 hold as they are.
Tensor whole_numbers(const Shape& shape) {
  Tensor x = Tensor::empty(shape, Dtype::f32);
  float* to = x.mutable_data<float>();
  const std::int64_t D = shape[shape.rank() - 1];
  const RandomStream random = generator().next();
  for (std::int64_t i = 0; i < x.numel(); ++i)
    to[i] = i % D == 0 ? 127.0F : static_cast<float>(random.below(i, 255) - 127);
  return x;
}

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

TEST_CASE("a cache in less room gives each example's and each head's numbers, however it moves") {
  const NoGrad off;
  const nn::Linear layer(1, 1);
  seed(9);
  for (const Precision precision : {Precision::bf16, Precision::f16, Precision::int8})
    for (const std::int64_t D : {1, 3, 9})
      for (const std::int64_t G : {1, 2, 3}) {
        const bool sliding = D != 3;
        nn::KVCache packed({.capacity = 6, .sliding = sliding, .precision = precision});
        nn::KVCache plain({.capacity = 6, .sliding = sliding});
        std::int64_t B = 3;
        for (const std::int64_t T : {2, 1, 3, 1, 4, 1}) {
          if (!sliding && plain.size() + T > 6) break;
          packed.advance(B, T);
          plain.advance(B, T);
          const Tensor k = whole_numbers({B, G, T, D}), v = whole_numbers({B, G, T, D + 1});
          const nn::KeysValues a = packed.extend(layer, k, v), b = plain.extend(layer, k, v);
          CAPTURE(static_cast<int>(precision), D, G, T);
          REQUIRE(a.keys.shape() == b.keys.shape());
          REQUIRE(a.keys.to_vector<float>() == b.keys.to_vector<float>());
          REQUIRE(a.values.to_vector<float>() == b.values.to_vector<float>());
          if (T != 3) continue;
          packed.select({2, 0});
          plain.select({2, 0});
          B = 2;
        }
      }
}

TEST_CASE("borders of a cache") {
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
  CHECK_REFUSES(GraphError, fresh.flat(), "KVCache", "advance");
  CHECK_REFUSES(GraphError, fresh.extend(layer, one, one), "KVCache", "advance");
  CHECK(fresh.length() == 0);
  CHECK(fresh.batch() == 0);
  CHECK(fresh.memory(layer) == nullptr == 1);
  CHECK_REFUSES(GraphError, missed.extend(other, one, one), "KVCache", "0");
  CHECK_NOTHROW(missed.extend(layer, one, one));
  CHECK_REFUSES(GraphError, missed.extend(layer, one, one), "KVCache", "2");
}

TEST_CASE("a memory is remembered without a gradient, and read again") {
  nn::KVCache cache({.capacity = 4});
  const nn::CrossAttention layer({.width = 4, .heads = 2}), other({.width = 4, .heads = 2});
  const Tensor x = ones({2, 1, 4}), memory = ones({2, 3, 4});
  cache.advance(2, 1);
  CHECK(outcome([&] { return str_cat(layer(x, memory, Mask(), &cache).shape()); }) ==
        "gradus::GraphError: KVCache: a memory that is remembered cannot be recorded: call "
        "the model under NoGrad, or without a cache (in CrossAttention)");
  const NoGrad off;
  layer(x, memory, Mask(), &cache);
  REQUIRE(cache.memory(layer));
  CHECK(cache.memory(other) == nullptr);
  CHECK(cache.memory(layer)->keys.shape() == Shape{2, 2, 3, 2});
  const std::string wrong =
      "gradus::ShapeError: CrossAttention: the cache remembers a memory of 2 examples and 3 places,"
      " this one is ";
  for (const Shape& shape : {Shape{2, 2, 4}, Shape{2, 4, 4}})
    CHECK(outcome([&] { return str_cat(layer(x, ones(shape), Mask(), &cache).shape()); }) ==
          str_cat(wrong, shape, ": make a new cache (in CrossAttention)"));
  CHECK(outcome([&] {
          return str_cat(layer(ones({1, 1, 4}), memory, Mask(), &cache).shape());
        }) == wrong + "[2, 3, 4]: make a new cache (in CrossAttention)");
  cache.select({1});
  CHECK(cache.memory(layer)->keys.shape() == Shape{1, 2, 3, 2});
}

}  // namespace gradus::testing
