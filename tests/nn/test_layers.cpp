// Compares layers with naive loops.
#include <cmath>
#include <set>

#include "gradus/engine/base/random.h"
#include "gradus/nn/dropout.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/norm.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_layers {
namespace {

using naive::at;
using naive::Numbers;
using naive::numbers;

/// Returns the largest error in f32 ulps of the largest value. Each op adds a few ulps.
double roundings(const Tensor& x, const Numbers& right) {
  const Numbers got = numbers(x);
  REQUIRE(got.size() == right.size());
  double worst = 0, scale = 1e-300;
  for (std::size_t i = 0; i < got.size(); ++i) {
    worst = std::max(worst, std::abs(got[i] - right[i]));
    scale = std::max(scale, std::abs(right[i]));
  }
  return worst / scale / 0x1p-24;
}

/// (x − mean) / √(variance + 1e-5) for each column of x [N, C], and its statistics.
struct Columns {
  Numbers normal, mean, variance;  // divides by n − 1, like the running variance
};
Columns normalised_columns(const Numbers& x, std::int64_t C) {
  const std::int64_t N = std::ssize(x) / C;
  Columns out{x, Numbers(at(C)), Numbers(at(C))};
  for (std::int64_t c = 0; c < C; ++c) {
    double mean = 0, squares = 0;
    for (std::int64_t n = 0; n < N; ++n) mean += x[at(n * C + c)] / static_cast<double>(N);
    for (std::int64_t n = 0; n < N; ++n) squares += std::pow(x[at(n * C + c)] - mean, 2);
    for (std::int64_t n = 0; n < N; ++n)
      out.normal[at(n * C + c)] =
          (x[at(n * C + c)] - mean) / std::sqrt(squares / static_cast<double>(N) + 1e-5);
    out.mean[at(c)] = mean, out.variance[at(c)] = squares / static_cast<double>(N - 1);
  }
  return out;
}

}  // namespace

TEST_CASE("the padding row of an embedding is 0 and gets no gradient") {
  const nn::Embedding layer(4, 2, {.padding_idx = 2});
  const Numbers w = numbers(layer.weight);
  CHECK((w[4] == 0 && w[5] == 0));
  CHECK((w[0] != 0 && w[6] != 0));
  sum(layer(indices({2, 1, 2}))).backward();
  CHECK(numbers(layer.weight.grad()) == Numbers{0, 0, 1, 1, 0, 0, 0, 0});
  CHECK(layer.clone().options.padding_idx == 2);
}

TEST_CASE("BatchNorm1d uses batch statistics in training and running statistics in evaluation") {
  nn::BatchNorm1d layer(3, {.momentum = 0.25});
  const Tensor x = randn({7, 3});
  const Columns right = normalised_columns(numbers(x), 3);
  CHECK(roundings(layer(x), right.normal) < 64);
  Numbers mean, variance;
  for (std::size_t c = 0; c < 3; ++c) {
    mean.push_back(0.25 * right.mean[c]);
    variance.push_back(0.75 + 0.25 * right.variance[c]);
  }
  CHECK(roundings(layer.running_mean, mean) < 16);
  CHECK(roundings(layer.running_var, variance) < 16);

  layer.eval();
  const Numbers before = numbers(layer.running_mean), xs = numbers(x);
  Numbers y;
  for (std::size_t i = 0; i < xs.size(); ++i)
    y.push_back((xs[i] - mean[i % 3]) / std::sqrt(variance[i % 3] + 1e-5));
  CHECK(roundings(layer(x), y) < 64);
  CHECK(numbers(layer.running_mean) == before);
  CHECK(layer.buffers().size() == 2);
  CHECK(layer.buffers()[1].name == "running_var");
  const nn::BatchNorm1d copy = layer.clone();
  CHECK(numbers(copy.running_mean) == before);
  CHECK(copy.running_mean.storage() != layer.running_mean.storage());

  nn::BatchNorm1d other(3);
  CHECK(other(randn({2, 3, 5})).shape() == Shape{2, 3, 5});
  CHECK_THROWS_AS(other(ones({1, 3})), Error);  // a single value has no variance
}

TEST_CASE("Dropout applies only in training and depends on the seed") {
  nn::Dropout layer(0.25);
  const Tensor x = ones({10000});
  seed(5);
  const Numbers a = numbers(layer(x));
  seed(5);
  const Numbers b = numbers(layer(x)), c = numbers(layer(x));
  CHECK(a == b);
  CHECK(a != c);
  CHECK(std::set<double>(a.begin(), a.end()).size() == 2);  // the values are 0 and 1 / 0.75
  double kept = 0;
  for (const double each : a) kept += each != 0;
  CHECK(std::abs(kept - 7500) < 6 * std::sqrt(10000 * 0.25 * 0.75));  // six standard deviations
  layer.eval();
  CHECK(layer(x).storage() == x.storage());
  CHECK(layer.clone().p == 0.25);
  CHECK(!layer.clone().training());
}

}  // namespace gradus::testing::test_layers
