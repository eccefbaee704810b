#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/random.h"
#include "gradus/ops/create.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/sort.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_order {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Integers integers_of(const Tensor& x) { return x.to_vector<std::int64_t>(); }

}  // namespace

TEST_CASE("argmax and argmin: the first of equal elements wins, along any axis") {
  const Tensor x = tensor({{1, 5, 5}, {5, -2, -2}});
  CHECK(integers_of(argmax(x, 1)) == Integers{1, 0});
  CHECK(integers_of(argmin(x, 1)) == Integers{0, 1});
  CHECK(integers_of(argmax(x, 0)) == Integers{1, 0, 0});
  CHECK(argmax(x, 0, true).shape() == Shape{1, 3});
  CHECK(integers_of(argmax(transpose(x), 0)) == Integers{1, 0});
  CHECK(argmax(x, -1).dtype() == Dtype::i64);
  CHECK(argmax(zeros({0, 3}), 1).shape() == Shape{0});
}

TEST_CASE("argmax and argmin return the position of max and min, NaN included") {
  const Tensor x = tensor({3, kNan, 9, kNan, -kInfinity}, Dtype::f64);
  CHECK(integers_of(argmax(x, 0)) == Integers{1});
  CHECK(integers_of(argmin(x, 0)) == Integers{1});
  CHECK(integers_of(argmax(tensor({-kInfinity, -kInfinity}), 0)) == Integers{0});
}

TEST_CASE("argsort: stable and NaN last, in both directions") {
  const Tensor x = tensor({2, kNan, 1, 2, -kInfinity, 1}, Dtype::f64);
  CHECK(integers_of(argsort(x)) == Integers{4, 2, 5, 0, 3, 1});
  CHECK(integers_of(argsort(x, 0, true)) == Integers{0, 3, 2, 5, 4, 1});
  CHECK(integers_of(argsort(indices({3, 1, 2, 1}))) == Integers{1, 3, 2, 0});
  CHECK(argsort(zeros({2, 0})).shape() == Shape{2, 0});
}

TEST_CASE("sort: values and positions agree, and tied elements get their own gradients") {
  const Tensor x = tensor({{2, 1, 2}, {0, 7, -1}}, Dtype::f64).requires_grad_();
  const SortResult sorted = sort(x);
  CHECK(sorted.values.to_vector<double>() == std::vector<double>{1, 2, 2, -1, 0, 7});
  CHECK(integers_of(sorted.indices) == Integers{1, 0, 2, 2, 0, 1});
  sorted.values.backward(tensor({{1, 2, 3}, {4, 5, 6}}, Dtype::f64));
  CHECK(x.grad().to_vector<double>() == std::vector<double>{2, 1, 3, 5, 6, 4});
  CHECK(!sorted.indices.requires_grad());
}

TEST_CASE("topk: largest first, first of equal elements first, NaN before all") {
  const Tensor x = tensor({4, 9, kNan, 9, 1}, Dtype::f64);
  const SortResult top = topk(x, 4);
  CHECK(integers_of(top.indices) == Integers{2, 1, 3, 0});
  CHECK(std::isnan(top.values.to_vector<double>()[0]));
  CHECK(integers_of(topk(indices({3, 8, 8, 5}), 2).values) == Integers{8, 8});
  CHECK(topk(x, 0).values.shape() == Shape{0});
}

TEST_CASE("multinomial: frequencies follow the weights") {
  seed(1);
  const std::int64_t n = 20000;
  const Integers drawn = integers_of(multinomial(tensor({1, 0, 3, 0, 4}), n));
  std::array<double, 5> counts{};
  for (const std::int64_t k : drawn) counts[static_cast<std::size_t>(k)] += 1;
  CHECK(counts[1] == 0);
  CHECK(counts[3] == 0);
  const double expected[] = {0.125, 0, 0.375, 0, 0.5};
  for (std::size_t k = 0; k < 5; ++k) {
    // A count is off by more than 5 standard deviations for one in two million seeds.
    const double deviation = std::sqrt(static_cast<double>(n) * expected[k] * (1 - expected[k]));
    CHECK(std::abs(counts[k] - static_cast<double>(n) * expected[k]) <= 5 * deviation);
  }
}

TEST_CASE("multinomial without replacement draws distinct elements by weight") {
  seed(2);
  const std::int64_t rows = 8000;
  const Tensor weights = expand(tensor({1, 0, 3, 4}), {rows, 4});
  const Integers drawn = integers_of(multinomial(weights, 3, false));
  double first_is_3 = 0, second_after_3_is_2 = 0;
  for (std::size_t r = 0; r < 8000; ++r) {
    const std::set<std::int64_t> row(drawn.begin() + static_cast<std::ptrdiff_t>(3 * r),
                                     drawn.begin() + static_cast<std::ptrdiff_t>(3 * r + 3));
    CHECK(row == std::set<std::int64_t>{0, 2, 3});
    if (drawn[3 * r] != 3) continue;
    first_is_3 += 1;
    second_after_3_is_2 += drawn[3 * r + 1] == 2;
  }
  // Index 3 is expected in 4/8 of the first draws, and index 2 in 3/4 of the draws after it. The
  // bounds are 5 standard deviations.
  CHECK(std::abs(first_is_3 - 4000) <= 5 * std::sqrt(8000 * 0.25));
  CHECK(std::abs(second_after_3_is_2 - 0.75 * first_is_3) <= 5 * std::sqrt(first_is_3 * 0.1875));
}

TEST_CASE("multinomial: a seed gives the same draws for any number of threads") {
  const Tensor weights = rand({4001, 13});
  const int before = num_threads();
  for (const bool replacement : {true, false}) {
    set_num_threads(1);
    seed(3);
    const Integers one = integers_of(multinomial(weights, 5, replacement));
    set_num_threads(2);
    CHECK(integers_of(multinomial(weights, 5, replacement)) != one);  // draws from the next stream
    seed(3);
    CHECK(integers_of(multinomial(weights, 5, replacement)) == one);
  }
  set_num_threads(before);
}

TEST_CASE("multinomial: extreme weights are supported") {
  const double huge = std::numeric_limits<double>::max();
  for (const std::int64_t k : integers_of(multinomial(tensor({0, huge, huge, 0}, Dtype::f64), 50)))
    CHECK((k == 1 || k == 2));
  CHECK(integers_of(multinomial(tensor({0, 0, 1e-300}, Dtype::f64), 2)) == Integers{2, 2});
  CHECK(multinomial(zeros({0, 3}), 2).shape() == Shape{0, 2});
}

}  // namespace gradus::testing::test_order
