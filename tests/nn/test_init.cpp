// Initializers: their ranges, means and deviations, reproducibility, and refused arguments.
#include <algorithm>
#include <cmath>
#include <set>

#include "gradus/base/parallel.h"
#include "gradus/base/random.h"
#include "gradus/nn/attention.h"
#include "gradus/nn/conv.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/init.h"
#include "gradus/nn/linear_attention.h"
#include "gradus/nn/lora.h"
#include "gradus/nn/module.h"
#include "gradus/nn/scoring.h"
#include "gradus/ops/create.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/nn/stream_law.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
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

// Of 60000 draws, a mean lies within 5 deviations / √60000 = 0.0204 of them, and a deviation within
// 1.5 % (5 / √(2 · 60000)), but once in a million. The seed is fixed: the tests give the same
// always.
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
  // mean + deviation (φ(α) − φ(β)) / (Φ(β) − Φ(α)), α = −½, β = 1½
  const double phi_a = 0.3520653, phi_b = 0.1295176, part = 0.9331928 - 0.3085375;
  CHECK(std::abs(s.mean - (1 + 2 * (phi_a - phi_b) / part)) < kMean * s.deviation);
  // each from numbers of its own: two of a hundred are equal once in 10^11
  Tensor some = zeros({10, 10}, Dtype::f64);
  init::truncated_normal_(some, 1, 2, 0, 4);
  const Numbers all = numbers(some);
  CHECK(std::set<double>(all.begin(), all.end()).size() == all.size());
}

TEST_CASE("Xavier and Kaiming deviations follow the papers") {
  seed(3);
  Tensor x = weight();  // fan in 300, fan out 200
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

TEST_CASE("initializers refuse tensors and ranges that they cannot fill") {
  Tensor x = weight(), vector = zeros({5}), whole = Tensor::empty({2, 2}, Dtype::i64), none;
  CHECK_REFUSES(ShapeError, init::xavier_uniform_(vector), "[5]");
  CHECK_THROWS_AS(init::kaiming_normal_(vector), ShapeError);
  CHECK_REFUSES(DtypeError, init::normal_(whole), "i64");
  CHECK_THROWS_AS(init::zeros_(none), ValueError);
  CHECK_THROWS_AS(init::xavier_normal_(none), ValueError);
  CHECK_REFUSES(ValueError, init::uniform_(x, 2, 1), "2", "1");
  CHECK_THROWS_AS(init::uniform_(x, 0, INFINITY), ValueError);
  CHECK_THROWS_AS(init::normal_(x, 0, -1), ValueError);
  CHECK_REFUSES(ValueError, init::truncated_normal_(x, 0, 1, 5, 6), "[5, 6]");
  CHECK_THROWS_AS(init::truncated_normal_(x, 0, 1, 2, -2), ValueError);
  CHECK_THROWS_AS(init::residual_deviation(0), ValueError);
  Tensor turned = transpose(x.detach());
  CHECK_REFUSES(ValueError, init::normal_(turned), "[300, 200]");
}

namespace init = nn::init;

TEST_CASE("initializers follow their formulas from one stream each") {
  const InDoubles scope;
  seed(31);
  Tensor x = zeros({3, 4, 5});  // 20 in, 15 out
  init::uniform_(x, -2, 3);
  CHECK(drawn_uniform(x, -2, 3));
  init::uniform_(x);
  CHECK(drawn_uniform(x, 0, 1));
  init::normal_(x, 4, 0.5);
  CHECK(drawn_normal(x, 4, 0.5));
  init::normal_(x);
  CHECK(drawn_normal(x, 0, 1));
  init::truncated_normal_(x, 1, 2, -0.5, 2);
  CHECK(drawn_truncated(x, 1, 2, -0.5, 2));
  init::truncated_normal_(x);
  CHECK(drawn_truncated(x, 0, 1, -2, 2));
  init::xavier_uniform_(x, 1.5);
  CHECK(drawn_uniform(x, -1.5 * std::sqrt(6.0 / 35), 1.5 * std::sqrt(6.0 / 35)));
  init::xavier_uniform_(x);
  CHECK(drawn_uniform(x, -std::sqrt(6.0 / 35), std::sqrt(6.0 / 35)));
  init::xavier_normal_(x, 1.5);
  CHECK(drawn_normal(x, 0, 1.5 * std::sqrt(2.0 / 35)));
  init::kaiming_uniform_(x, init::Fan::out, 2);
  CHECK(drawn_uniform(x, -2 * std::sqrt(3.0 / 15), 2 * std::sqrt(3.0 / 15)));
  init::kaiming_uniform_(x);
  CHECK(drawn_uniform(x, -std::sqrt(6.0 / 20), std::sqrt(6.0 / 20)));
  init::kaiming_normal_(x, init::Fan::in, 2);
  CHECK(drawn_normal(x, 0, 2 / std::sqrt(20.0)));
  init::kaiming_normal_(x, init::Fan::out);
  CHECK(drawn_normal(x, 0, std::sqrt(2.0 / 15)));
  init::ones_(x);
  CHECK(x.to_vector<double>() == std::vector<double>(60, 1.0));
  init::zeros_(x);
  CHECK(x.to_vector<double>() == std::vector<double>(60, 0.0));
  CHECK(init::fan_of(x, init::Fan::in) == 20);
  CHECK(init::fan_of(x, init::Fan::out) == 15);
  const double many = 16777217;  // an f32 does not hold it
  CHECK(std::abs(init::residual_deviation(16777217, 3) / (3 / std::sqrt(2 * many)) - 1) < 1e-14);
  CHECK(std::abs(init::residual_deviation(2) - 0.01) < 1e-17);
}

TEST_CASE("layers are initialized by their documented formulas") {
  const InDoubles scope;
  seed(32);
  const double bound = 1 / std::sqrt(5.0);
  const nn::Linear linear(5, 7);
  CHECK(drawn_uniform(linear.weight, -bound, bound));
  CHECK(drawn_uniform(linear.bias, -bound, bound));
  CHECK_FALSE(nn::Linear(5, 7, {.bias = false}).bias.defined());
  const nn::Conv1d conv(4, 6, 3, {.groups = 2});
  CHECK(drawn_uniform(conv.weight, -1 / std::sqrt(6.0), 1 / std::sqrt(6.0)));
  CHECK(drawn_uniform(conv.bias, -1 / std::sqrt(6.0), 1 / std::sqrt(6.0)));
  CHECK(drawn_normal(nn::Embedding(4, 3).weight, 0, 1));
  CHECK(drawn_normal(nn::LearnedPosition(4, 3).weight, 0, 0.02));
  CHECK(drawn_normal(nn::RelativeBias(3, {.count = 8, .max_distance = 16}).weight, 0, 0.02));
  CHECK(drawn_normal(nn::AttentionPooling(9).query, 0, 0.02));
  const nn::LinformerAttention linformer({.width = 4, .heads = 2, .length = 7, .reduced = 3});
  CHECK(drawn_uniform(linformer.key_map, -std::sqrt(0.6), std::sqrt(0.6)));  // 6 / (7 + 3)
  CHECK(drawn_uniform(linformer.value_map, -std::sqrt(0.6), std::sqrt(0.6)));
  CHECK_FALSE(linformer.key_map.to_vector<double>() == linformer.value_map.to_vector<double>());
  nn::Linear adapted(5, 7);
  nn::add_adapters(adapted, "*", {.rank = 2, .alpha = 3});
  CHECK(drawn_normal(adapted.lora_a, 0, bound));
  CHECK(adapted.lora_b.to_vector<double>() == std::vector<double>(14, 0.0));
  CHECK(adapted.lora_scale.item() == 1.5);
}

TEST_CASE("Skip leaves tensors unchanged until the outermost scope ends") {
  Tensor x = zeros({4});
  {
    const init::Skip outer;
    {
      const init::Skip inner;
      init::ones_(x);
    }
    init::ones_(x);
    CHECK(x.to_vector<float>() == std::vector<float>(4, 0.0F));
  }
  init::ones_(x);
  CHECK(x.to_vector<float>() == std::vector<float>(4, 1.0F));
}

}  // namespace gradus::testing
