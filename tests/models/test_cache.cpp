// KVCache in models: equal results, positions, packed values, and refused calls.
#include <algorithm>
#include <cmath>
#include <string>

#include "gradus/base/products/narrow.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/models/gpt.h"
#include "gradus/nn/cache.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/models/tiny_models.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
namespace {

/// All tokens at once against a prompt of `prompt` and then steps of the sizes given, repeated.
void check_steps(const nn::GPT& model, nn::CacheOptions options, std::int64_t T, const Ids& steps) {
  const NoGrad off;
  const Tensor ids = ids_of(2, T), whole = model(ids);
  nn::KVCache cache(options);
  std::int64_t at = 0;
  for (std::size_t i = 0; at < T; ++i) {
    const std::int64_t n = std::min(steps[i % steps.size()], T - at);
    INFO("tokens " << at << " to " << at + n);
    check_equal(model(slice(ids, 1, at, at + n), &cache), slice(whole, 1, at, at + n));
    at += n;
  }
  CHECK(cache.length() == T);
}

}  // namespace

TEST_CASE("cached results equal uncached ones at every step for any split of the tokens") {
  nn::GPTOptions options = tiny();
  const auto every_cut = [&] {
    const nn::GPT model = made(options);
    check_steps(model, {.capacity = 24}, 19, {1});
    check_steps(model, {.capacity = 24}, 24, {5, 1, 1, 7, 2});
  };
  SECTION("learned positions") { every_cut(); }
  SECTION("rotary positions") {
    options.position = nn::HeadPosition::rotary;
    every_cut();
  }
  SECTION("ALiBi") {
    options.position = nn::HeadPosition::alibi;
    every_cut();
  }
  SECTION("relative buckets") {
    options.position = nn::HeadPosition::relative;
    every_cut();
  }
  SECTION("grouped heads, rms norm, swiglu, a window") {
    options.position = nn::HeadPosition::rotary;
    options.kv_heads = 2, options.window = 6;
    options.norm_kind = nn::NormKind::rms, options.activation = nn::Activation::swiglu;
    every_cut();
  }
  SECTION("one head of keys and values") {
    options.kv_heads = 1;
    every_cut();
  }
}

TEST_CASE("a cache works with a checkpointed model in training mode") {
  nn::GPTOptions options = tiny();
  options.checkpoint = true;
  nn::GPT model = made(options);
  model.train();
  check_steps(model, {.capacity = 8}, 8, {3, 1});
}

TEST_CASE("a sliding cache of the window's length serves endless text") {
  nn::GPTOptions options = tiny();
  options.window = 5;
  options.position =
      GENERATE(nn::HeadPosition::rotary, nn::HeadPosition::alibi, nn::HeadPosition::relative);
  const nn::GPT model = made(options);
  check_steps(model, {.capacity = 5, .sliding = true}, 40, {1});
  check_steps(model, {.capacity = 5, .sliding = true}, 40, {3, 1, 1, 9, 1});
  check_steps(model, {.capacity = 7, .sliding = true}, 40, {7, 1, 1, 1, 2, 4});
}

TEST_CASE("a cache gives the positions of queries and keys") {
  nn::KVCache cache({.capacity = 3, .sliding = true});
  cache.advance(2, 2, {2, 1});
  CHECK(cache.queries() == Positions{{0, 1}, {-1, 0}});
  CHECK(cache.keys() == Positions{{0, 1}, {-1, 0}});
  CHECK(cache.flat().examples == 2);
  CHECK(cache.flat().queries == Ids{0, 1, 0, 0});
  cache.advance(2, 1);
  CHECK(cache.keys() == Positions{{0, 1, 2}, {-1, 0, 1}});
  cache.advance(2, 1);  // over the oldest
  CHECK(cache.keys() == Positions{{3, 1, 2}, {2, 0, 1}});
  cache.advance(2, 2);  // in order again, the oldest first, all visible this once
  CHECK(cache.keys() == Positions{{1, 2, 3, 4, 5}, {0, 1, 2, 3, 4}});
  CHECK(cache.size() == 3);
  cache.advance(2, 1);
  CHECK(cache.keys() == Positions{{6, 4, 5}, {5, 3, 4}});
  CHECK(cache.length() == 7);
}

TEST_CASE("a cache supports values of another width than keys") {
  const NoGrad off;
  const nn::Linear layer(1, 1);
  nn::KVCache cache({.capacity = 3});
  cache.advance(1, 2);
  const nn::KeysValues all = cache.extend(layer, ones({1, 1, 2, 3}), ones({1, 1, 2, 5}));
  CHECK(all.keys.shape() == Shape{1, 1, 2, 3});
  CHECK(all.values.shape() == Shape{1, 1, 2, 5});
}

TEST_CASE("a packed cache returns the rounded keys and values of all its tokens") {
  const NoGrad off;
  const nn::Linear layer(1, 1);
  const auto rounded = [](Precision precision, const std::vector<double>& row) {
    double largest = 0;
    for (const double x : row) largest = std::max(largest, std::abs(x));
    std::vector<double> out;
    for (const double each : row) {
      const auto x = static_cast<float>(each), scale = static_cast<float>(largest) / 127;
      out.push_back(precision == Precision::bf16  ? widen(products::to_bfloat16(x))
                    : precision == Precision::f16 ? widen(products::to_float16(x))
                                                  : scale * std::nearbyint(x / scale));
    }
    return out;
  };
  for (const Precision precision : {Precision::bf16, Precision::f16, Precision::int8})
    for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
      nn::KVCache cache({.capacity = 5, .sliding = true, .precision = precision});
      std::vector<std::vector<double>> keys, values;        // rows of 3 and 5 numbers, by position
      for (const std::int64_t T : {3, 1, 1, 1, 1, 4, 1}) {  // appended, in a ring, moved, in a ring
        cache.advance(1, T);
        const Tensor k = randn({1, 1, T, 3}, dtype), v = randn({1, 1, T, 5}, dtype) * 40;
        const std::vector<double> k_all = numbers(k), v_all = numbers(v);
        for (std::int64_t t = 0; t < T; ++t) {
          keys.push_back(rounded(precision, {k_all.begin() + 3 * t, k_all.begin() + 3 * t + 3}));
          values.push_back(rounded(precision, {v_all.begin() + 5 * t, v_all.begin() + 5 * t + 5}));
        }
        const nn::KeysValues all = cache.extend(layer, k, v);
        CHECK(all.keys.dtype() == dtype);
        std::vector<double> want_k, want_v;
        for (const std::int64_t at : cache.keys()[0]) {
          const std::vector<double>&one = keys[std::size_t(at)], &other = values[std::size_t(at)];
          want_k.insert(want_k.end(), one.begin(), one.end());
          want_v.insert(want_v.end(), other.begin(), other.end());
        }
        CHECK(numbers(all.keys) == want_k);
        CHECK(numbers(all.values) == want_v);
      }
    }
  nn::KVCache cache({.capacity = 2, .precision = Precision::f16});
  cache.advance(1, 1);
  const Tensor small = ones({1, 1, 1, 2});
  CHECK_REFUSES(ValueError, cache.extend(layer, small, small * 7e4), "f32", "70000");
}

TEST_CASE("a cache refuses recording, wrong sizes and tokens beyond its capacity") {
  const nn::GPT model = made(tiny()), other = made(tiny());
  const Tensor ids = ids_of(2, 4);
  nn::KVCache cache({.capacity = 6});
  CHECK_REFUSES(GraphError, model(ids, &cache), "NoGrad");
  const NoGrad off;
  cache = nn::KVCache({.capacity = 6});
  model(ids, &cache);
  const auto says = [](const std::string& message, const char* what) {
    INFO(message);
    CHECK(has(message, what));
  };
  says(message_of<ShapeError>([&] { model(ids_of(3, 1), &cache); }),
       "a batch of 3, but it remembers one of 2");
  says(message_of<ShapeError>([&] { model(ids_of(2, 3), &cache); }),
       "3 tokens after 4 are more than its capacity of 6");
  says(message_of<ShapeError>([&] { cache.advance(2, 1, {1}); }), "1 lengths for a batch of 2");
  says(message_of<ValueError>([&] {
         cache.advance(2, 1, {1, 2});
       }),
       "a length of 2 among 1 tokens");
  says(message_of<ShapeError>([&] { cache.advance(2, 0); }), "0 tokens of 2 examples");
  says(message_of<GraphError>([&] { other(ids_of(2, 1), &cache); }),
       "took part in 0 of 1 calls before: the cache belongs to another model");
  says(message_of<IndexError>([&] { cache.select({0, 2}); }), "example 2 of a batch of 2");
  says(message_of<ValueError>([&] { nn::KVCache({.capacity = 0}); }), "a capacity of 0");
  nn::KVCache fresh({.capacity = 6});
  const nn::MultiHeadAttention layer({.width = 8, .heads = 2});
  says(message_of<GraphError>([&] {
         layer(zeros({2, 3, 8}), Mask(), &fresh);
       }),
       "call advance(batch, tokens) before");
  fresh.advance(2, 2);
  says(message_of<ShapeError>([&] {
         layer(zeros({2, 3, 8}), Mask(), &fresh);
       }),
       "announced 2 examples of 2 tokens");
  nn::KVCache large({.capacity = 60});
  model(ids_of(1, 24), &large);
  says(message_of<ShapeError>([&] { model(ids_of(1, 1), &large); }),
       "25 tokens, but the model's context is 24");
  says(message_of<ValueError>([&] {
         model(ids, nullptr, Ids{4, 4});
       }),
       "lengths say what a cache takes");
}

}  // namespace gradus::testing
