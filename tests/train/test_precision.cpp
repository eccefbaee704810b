#include <algorithm>
#include <cmath>
#include <numeric>

#include "gradus/tests/support/catch.h"
#include "gradus/tests/train/tiny_gpt.h"

namespace gradus::testing::test_precision {
namespace {

std::vector<double> curve(std::uint64_t seed, Dtype dtype) {
  TinyGpt task(seed, dtype);
  std::vector<double> losses;
  for (int step = 0; step < 1000; ++step) losses.push_back(task.step());
  return losses;
}

double mean_of_last(const std::vector<double>& losses, std::int64_t n) {
  return std::accumulate(losses.end() - n, losses.end(), 0.0) / static_cast<double>(n);
}

}  // namespace

// A step rounds the loss by 6e-8 of its value, and training that converges hardly magnifies
// differences. Over 20 seeds, the curves differed by at most 4e-5, for losses from 2.4 to 0.02. The
// bound is 20 times larger, because other kernels round differently.
TEST_CASE("a thousand training steps in f32 have the loss curve of f64", "[slow]") {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    CAPTURE(seed);
    const std::vector<double> f32 = curve(seed, Dtype::f32), f64 = curve(seed, Dtype::f64);
    double apart = 0;
    for (std::size_t i = 0; i < f64.size(); ++i) {
      REQUIRE(std::isfinite(f32[i]));
      apart = std::max(apart, std::abs(f32[i] - f64[i]));
    }
    CHECK(apart <= 1e-3);
    CHECK(f64.front() > 2.3);              // log 11 is the loss of uniform guesses
    CHECK(mean_of_last(f64, 100) < 0.25);  // the model learns
  }
}

// exp(1e4) overflows f64, so logits of 1e4 require shifted exponentials. f32 rounds such a logit by
// 1e4 · 2⁻²⁴ = 6e-4 per op. Ten ops cause a relative error of 1e-6.
TEST_CASE("the loss of logits of 1e4 is finite, equals f64's, and training continues from it") {
  double first[2];
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    TinyGpt task(5, dtype);
    Tensor weight = task.model().norm.parameters().front().tensor.detach();
    const auto largest_logit = [&] {
      task.model().eval();
      const double most = max(abs(task.model()(reshape(arange(8), {1, 8})))).item();
      task.model().train();
      return most;
    };
    weight.copy_(weight * (1e4 / largest_logit()));
    CHECK(std::abs(largest_logit() - 1e4) < 100);
    double last = 0;
    for (int step = 0; step < 50; ++step) {
      last = task.step();
      if (step == 0) first[dtype == Dtype::f64] = last;
      REQUIRE(std::isfinite(last));
    }
    CHECK(last < first[dtype == Dtype::f64]);
    for (const nn::NamedTensor& each : task.model().parameters())
      CHECK(all(isfinite(reshape(each.tensor, {-1})), 0).to(Dtype::f64).item() == 1);
  }
  CHECK(first[0] > 1e3);
  CHECK(std::abs(first[0] - first[1]) <= 1e-5 * first[1]);
}

}  // namespace gradus::testing::test_precision
