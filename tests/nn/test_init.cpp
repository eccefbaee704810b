#include <algorithm>
#include <cmath>
#include <set>

#include "gradus/engine/base/num_threads.h"
#include "gradus/engine/base/random.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/extras/conv.h"
#include "gradus/nn/extras/linear_attention.h"
#include "gradus/nn/init.h"
#include "gradus/nn/module.h"
#include "gradus/nn/position.h"
#include "gradus/nn/scoring.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/naive.h"

namespace gradus::testing::test_init {
namespace {

namespace init = nn::init;
using naive::Numbers;
using naive::numbers;

struct Statistics {
  double mean, deviation, low, high;
};
Statistics statistics(const Tensor& x) {
  const Numbers values = numbers(x);
  const double n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / n;
  for (const double v : values) squares += (v - mean) * (v - mean) / n;
  return {mean, std::sqrt(squares), *std::min_element(values.begin(), values.end()),
          *std::max_element(values.begin(), values.end())};
}

// For 60,000 draws, five standard errors are 0.0204 standard deviations for the mean, and 1.5 % for
// the standard deviation. The seed is fixed.
constexpr double kMean = 0.0205, kDeviation = 0.015;
Tensor weight() { return nn::parameter(zeros({200, 300})); }

bool near(double x, double right, double relative) {
  return std::abs(x - right) <= relative * right;
}

}  // namespace

TEST_CASE("uniform and normal initializers have the requested moments") {
  seed(1);
  Tensor x = weight();
  init::uniform_(x, -2, 3);
  Statistics s = statistics(x);
  CHECK((s.low >= -2 && s.high < 3 && s.low < -1.99 && s.high > 2.99));
  CHECK(std::abs(s.mean - 0.5) < kMean * s.deviation);
  CHECK(near(s.deviation, 5 / std::sqrt(12.0), kDeviation));
  init::normal_(x, 4, 0.5);
  s = statistics(x);
  CHECK(std::abs(s.mean - 4) < kMean * 0.5);
  CHECK(near(s.deviation, 0.5, kDeviation));
  CHECK((x.is_leaf() && x.requires_grad()));
  init::ones_(x);
  CHECK(numbers(x) == Numbers(60000, 1.0));
  init::zeros_(x);
  CHECK(numbers(x) == Numbers(60000, 0.0));
  init::normal_(x, 3, 0);
  CHECK(numbers(x) == Numbers(60000, 3.0));
}

TEST_CASE("a truncated normal stays inside its bounds and has the right moments") {
  seed(2);
  Tensor x = weight();
  init::truncated_normal_(x, 1, 2, 0, 4);
  const Statistics s = statistics(x);
  CHECK((s.low >= 0 && s.high <= 4 && s.low < 0.01 && s.high > 3.99));
  // The expected mean is mean + deviation (φ(α) − φ(β)) / (Φ(β) − Φ(α)) with α = −½, β = 1½.
  const double phi_a = 0.3520653, phi_b = 0.1295176, part = 0.9331928 - 0.3085375;
  CHECK(std::abs(s.mean - (1 + 2 * (phi_a - phi_b) / part)) < kMean * s.deviation);
  // Values are independent: two of a hundred are equal with probability 10^−11.
  Tensor some = zeros({10, 10}, Dtype::f64);
  init::truncated_normal_(some, 1, 2, 0, 4);
  const Numbers all = numbers(some);
  CHECK(std::set<double>(all.begin(), all.end()).size() == all.size());
}

TEST_CASE("Xavier and Kaiming deviations follow the papers") {
  seed(3);
  Tensor x = weight();  // fan-in 300, fan-out 200
  init::xavier_uniform_(x);
  CHECK(near(statistics(x).deviation, std::sqrt(2.0 / 500), kDeviation));
  CHECK(statistics(x).high <= std::sqrt(6.0 / 500));
  init::xavier_normal_(x, 2);
  CHECK(near(statistics(x).deviation, 2 * std::sqrt(2.0 / 500), kDeviation));
  init::kaiming_uniform_(x);
  CHECK(near(statistics(x).deviation, std::sqrt(2.0 / 300), kDeviation));
  CHECK(statistics(x).high <= std::sqrt(6.0 / 300));
  init::kaiming_normal_(x, init::Fan::out, 1);
  CHECK(near(statistics(x).deviation, std::sqrt(1.0 / 200), kDeviation));
  CHECK(init::residual_deviation(8) == 0.02 / 4);

  const Tensor kernel = zeros({6, 5, 3, 2});  // [out, in, height, width]
  CHECK(init::fan_of(kernel, init::Fan::in) == 30);
  CHECK(init::fan_of(kernel, init::Fan::out) == 36);
}

TEST_CASE("a seed gives the same weights for any number of threads") {
  const int before = num_threads();
  const auto drawn = [](int threads) {
    set_num_threads(threads);
    seed(4);
    Tensor x = weight(), y = weight();
    init::truncated_normal_(x);
    init::kaiming_uniform_(y);
    Numbers both = numbers(x);
    for (const double each : numbers(y)) both.push_back(each);
    return both;
  };
  const Numbers one = drawn(1), two = drawn(2);
  set_num_threads(before);
  CHECK(one == two);
  Tensor x = weight(), y = weight();
  init::normal_(x);
  init::normal_(y);
  CHECK(numbers(x) != numbers(y));
}

TEST_CASE("layers are initialized by their documented distributions") {
  seed(32);
  // For n values, the standard deviation has a relative error of 1 / √2n, and the mean has an error
  // of 1 / √n standard deviations.
  const auto centered = [](const Tensor& x, double deviation) {
    const double n = static_cast<double>(x.numel());
    const Statistics s = statistics(x);
    return near(s.deviation, deviation, 5 / std::sqrt(2 * n)) &&
           std::abs(s.mean) < 5 * deviation / std::sqrt(n);
  };
  const auto uniform = [&](const Tensor& x, double bound) {
    const Statistics s = statistics(x);
    return centered(x, bound / std::sqrt(3.0)) && std::max(-s.low, s.high) <= bound * (1 + 1e-6);
  };
  const auto normal = [&](const Tensor& x, double deviation) {
    return centered(x, deviation) && statistics(x).high > 2 * deviation;
  };
  const nn::Linear linear(50, 70);
  CHECK((uniform(linear.weight, 1 / std::sqrt(50.0)) && uniform(linear.bias, 1 / std::sqrt(50.0))));
  const nn::Conv1d conv(40, 60, 3, {.groups = 2});
  CHECK((uniform(conv.weight, 1 / std::sqrt(60.0)) && uniform(conv.bias, 1 / std::sqrt(60.0))));
  CHECK(normal(nn::Embedding(40, 50).weight, 1));
  CHECK(normal(nn::LearnedPosition(40, 50).weight, 0.02));
  CHECK(normal(nn::RelativeBias(30).weight, 0.02));
  CHECK(normal(nn::AttentionPooling(900).query, 0.02));
  const nn::LinformerAttention linformer({.width = 4, .heads = 2, .length = 70, .reduced = 30});
  CHECK(uniform(linformer.key_map, std::sqrt(6.0 / 100)));
  CHECK(uniform(linformer.value_map, std::sqrt(6.0 / 100)));
  CHECK(numbers(linformer.key_map) != numbers(linformer.value_map));
}

TEST_CASE("Skip leaves random tensors unchanged until the outermost scope ends") {
  Tensor x = zeros({4});
  {
    const init::Skip outer;
    {
      const init::Skip inner;
      init::uniform_(x, 1, 2);
    }
    init::normal_(x, 5, 1);
    init::truncated_normal_(x, 5, 1, 4, 6);
    CHECK(x.to_vector<float>() == std::vector<float>(4, 0.0F));
    init::ones_(x);  // writes constants
    CHECK(x.to_vector<float>() == std::vector<float>(4, 1.0F));
    init::zeros_(x);
    init::uniform_(x, 1, 2);
    CHECK(x.to_vector<float>() == std::vector<float>(4, 0.0F));
  }
  init::uniform_(x, 1, 2);
  for (const float each : x.to_vector<float>()) CHECK((each >= 1 && each < 2));
}

}  // namespace gradus::testing::test_init
