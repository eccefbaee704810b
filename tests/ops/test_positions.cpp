#include <cmath>
#include <vector>

#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/registry_run.h"

namespace gradus::testing::test_positions {
namespace {

using Places = std::vector<std::int64_t>;

double product(std::int64_t i, std::int64_t j, const RotaryOptions& options) {
  const Tensor q = apply_rotary(values({1, 1, 1, 8}, 1), Places{i}, options);
  const Tensor k = apply_rotary(values({1, 1, 1, 8}, 2), Places{j}, options);
  return sum(q * k).item();
}

}  // namespace

TEST_CASE("rotated queries and keys depend only on their distance") {
  for (const bool interleaved : {false, true}) {
    const RotaryOptions options{.interleaved = interleaved};
    const double near = product(3, 1, options);
    // An angle of 10⁵ is rounded by 10⁵ · 2⁻⁵³. The dot product adds a small error.
    CHECK(std::abs(product(100003, 100001, options) - near) < 1e-9);
    CHECK(std::abs(product(4, 1, options) - near) > 1e-3);
    CHECK(std::abs(product(0, -2, options) - near) < 1e-12);
    // f32 does not represent 2²⁴ + 1 and 2²⁴ + 3.
    CHECK(std::abs(product(16777219, 16777217, options) - near) < 1e-7);
  }
}

TEST_CASE("with base 1, every pair rotates by the same angle") {
  const Tensor y = apply_rotary(ones({1, 1, 1, 4}, Dtype::f64), Places{1}, {.base = 1});
  const double first = std::cos(1.0) - std::sin(1.0), second = std::cos(1.0) + std::sin(1.0);
  const std::vector<double> wanted = {first, first, second, second}, got = y.to_vector<double>();
  for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(std::abs(got[i] - wanted[i]) < 1e-15);
}

TEST_CASE("rotating some positions gives the same rows as rotating all") {
  const Tensor x = values({2, 3, 5, 4});
  const Tensor complete = apply_rotary(x, Places{0, 1, 2, 3, 4});
  const Tensor tail = apply_rotary(slice(x, 2, 3, 5), Places{3, 4});
  CHECK(numbers(tail) == numbers(slice(complete, 2, 3, 5)));
  CHECK(numbers(apply_rotary(x, Places{0, 0, 0, 0, 0})) == numbers(x));
  // The cached table depends on positions, width, dtype and options.
  CHECK(numbers(apply_rotary(x, Places{0, 1, 2, 3, 4})) == numbers(complete));
  CHECK(apply_rotary(x.to(Dtype::f32), Places{0, 1, 2, 3, 4}).dtype() == Dtype::f32);
  for (const RotaryOptions& other : {RotaryOptions{.interleaved = true}, RotaryOptions{100}}) {
    CHECK(numbers(apply_rotary(x, Places{0, 1, 2, 3, 4})) == numbers(complete));
    const Tensor rotated_differently = apply_rotary(x, Places{0, 1, 2, 3, 4}, other);
    CHECK(numbers(rotated_differently) != numbers(complete));
    apply_rotary(x, Places{9, 9, 9, 9, 9});
    CHECK(numbers(apply_rotary(x, Places{0, 1, 2, 3, 4}, other)) == numbers(rotated_differently));
  }
  CHECK(numbers(apply_rotary(x, Places{0, 1, 2, 3, 4})) == numbers(complete));
  const Tensor wide = apply_rotary(values({2, 3, 5, 6}), Places{0, 1, 2, 3, 4});
  CHECK(numbers(slice(wide, 2, 0, 1)) == numbers(slice(values({2, 3, 5, 6}), 2, 0, 1)));
  const Tensor no_width = zeros({2, 3, 5, 0}, Dtype::f64);
  CHECK(apply_rotary(no_width, Places{0, 1, 2, 3, 4}).shape() == no_width.shape());
}

TEST_CASE("ALiBi slopes follow the paper for any number of heads") {
  const auto slopes = [](std::int64_t heads) {
    return alibi_slopes(heads, Dtype::f64).to_vector<double>();
  };
  CHECK(slopes(1) == std::vector<double>{1.0 / 256});
  CHECK(slopes(8) ==
        std::vector<double>{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625});
  // 2⁻², 2⁻⁴, 2⁻⁶, 2⁻⁸ as for 4 heads; 2⁻¹, 2⁻³ as for 8.
  const std::vector<double> six = slopes(6);
  CHECK(six == std::vector<double>{0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125});
  CHECK_REFUSES(ValueError, alibi_slopes(0), "alibi_slopes", "0");
}

TEST_CASE("the ALiBi bias falls with the distance") {
  const Places queries = {4, 5}, keys = {0, 4, 7};
  const Tensor bias = alibi_bias(2, queries, keys, 0, Dtype::f64);
  CHECK(bias.shape() == Shape{2, 2, 3});
  const double a = 1.0 / 16, b = 1.0 / 256;
  CHECK(numbers(bias) == Numbers{-4 * a, 0, -3 * a, -5 * a, -a, -2 * a,  //
                                 -4 * b, 0, -3 * b, -5 * b, -b, -2 * b});
  const Tensor own = alibi_bias(2, Places{4, 0}, Places{0, 4, 7, 7, 0, 1}, 2, Dtype::f64);
  CHECK(own.shape() == Shape{2, 2, 1, 3});
  CHECK(numbers(own) == Numbers{-4 * a, 0, -3 * a, -4 * b, 0, -3 * b,  //
                                -7 * a, 0, -a, -7 * b, 0, -b});
  CHECK_REFUSES(ShapeError, alibi_bias(2, Places{1}, Places{1, 2}, 2), "position_distances", "1",
                "2");
  CHECK_REFUSES(ValueError, alibi_bias(2, Places{1}, Places{1, 2}, -1), "-1", "0");
}

TEST_CASE("relative buckets follow T5") {
  // For d ≥ 8, the bucket is 8 + k with the largest k for which 8 · 16^(k / 8) ≤ d, that is 8⁸ ·
  // 16ᵏ ≤ d⁸.
  const Places distances = {0,  1,  7,  8,  9,  11, 12, 15, 16,  22,  23,
                            31, 32, 45, 46, 63, 64, 90, 91, 127, 128, 1000};
  const Places buckets = {0,  1,  7,  8,  8,  8,  9,  9,  10, 10, 11,
                          11, 12, 12, 13, 13, 14, 14, 15, 15, 15, 15};
  for (std::size_t i = 0; i < distances.size(); ++i) {
    CAPTURE(distances[i]);
    CHECK(relative_bucket(-distances[i]) == buckets[i]);
    if (i > 0) CHECK(relative_bucket(distances[i]) == 16 + buckets[i]);
    CHECK(relative_bucket(distances[i], {.bidirectional = false}) == 0);
  }
  // The unidirectional table has 16 buckets of one distance each, and 16 for distances up to 128.
  for (const auto& [distance, bucket] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {15, 15}, {16, 16}, {18, 16}, {19, 17}, {63, 26}, {64, 26}, {127, 31}, {500, 31}})
    CHECK(relative_bucket(-distance, {.bidirectional = false}) == bucket);
  // With 16 buckets for distances up to 40, each direction has 4 buckets of one distance each. A
  // distance d ≥ 4 is in bucket 4 + ⌊4 · log₁₀(d / 4)⌋.
  for (const auto& [distance, bucket] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {3, 3}, {4, 4}, {7, 4}, {8, 5}, {15, 6}, {20, 6}, {33, 7}, {200, 7}})
    CHECK(relative_bucket(-distance, {.count = 16, .max_distance = 40}) == bucket);
  CHECK(relative_buckets(Places{3}, Places{0, 3, 5}).to_vector<std::int64_t>() == Places{3, 0, 18});
  CHECK(relative_buckets(Places{3, 0}, Places{0, 3}, {}, 2).shape() == Shape{2, 1, 1});
}

}  // namespace gradus::testing::test_positions
