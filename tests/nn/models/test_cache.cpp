// Tests KVCache in models.
#include <algorithm>
#include <cmath>

#include "gradus/engine/gemm/narrow.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/nn/cache.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/ops/create.h"
#include "gradus/tests/nn/models/tiny_models.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing {
TEST_CASE("a cache works with a checkpointed model in training mode") {
  nn::GPTOptions options = tiny();
  options.checkpoint = true;
  nn::GPT model = made(options);
  model.train();
  const NoGrad off;
  const Tensor ids = ids_of(2, 8), expected = model(ids);
  nn::KVCache cache({.capacity = 8});
  check_equal(model(slice(ids, 1, 0, 3), &cache), slice(expected, 1, 0, 3));
  check_equal(model(slice(ids, 1, 3, 8), &cache), slice(expected, 1, 3, 8));
}

TEST_CASE("a cache returns the positions of queries and keys") {
  nn::KVCache cache({.capacity = 3, .sliding = true});
  cache.advance(2, 2, {2, 1});
  CHECK(cache.queries() == Positions{{0, 1}, {-1, 0}});
  CHECK(cache.keys() == Positions{{0, 1}, {-1, 0}});
  CHECK(cache.flat_positions().examples == 2);
  CHECK(cache.flat_positions().queries == Ids{0, 1, 0, 0});
  cache.advance(2, 1);
  CHECK(cache.keys() == Positions{{0, 1, 2}, {-1, 0, 1}});
  cache.advance(2, 1);  // overwrites the oldest key
  CHECK(cache.keys() == Positions{{3, 1, 2}, {2, 0, 1}});
  cache.advance(2, 2);  // all are visible, the oldest first
  CHECK(cache.keys() == Positions{{1, 2, 3, 4, 5}, {0, 1, 2, 3, 4}});
  CHECK(cache.size() == 3);
  cache.advance(2, 1);
  CHECK(cache.keys() == Positions{{6, 4, 5}, {5, 3, 4}});
  CHECK(cache.length() == 7);
}

TEST_CASE("a cache supports keys and values of different widths") {
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
      out.push_back(precision == Precision::bf16  ? widen(gemm::to_bfloat16(x))
                    : precision == Precision::f16 ? widen(gemm::to_float16(x))
                                                  : scale * std::nearbyint(x / scale));
    }
    return out;
  };
  for (const Precision precision : {Precision::bf16, Precision::f16, Precision::int8})
    for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
      nn::KVCache cache({.capacity = 5, .sliding = true, .precision = precision});
      std::vector<std::vector<double>> keys, values;  // one list per token, of 3 and 5 numbers
      // With a capacity of 5, the first five tokens are appended, and the next two overwrite the
      // oldest. Before the call with four tokens, the cache moves the remaining one.
      for (const std::int64_t T : {3, 1, 1, 1, 1, 4, 1}) {
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

}  // namespace gradus::testing
