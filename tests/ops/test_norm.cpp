#include "gradus/ops/batch_norm.h"
#include "gradus/ops/normalization.h"

#include <cmath>
#include <initializer_list>

#include "gradus/engine/grad_mode.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing::test_norm {
namespace {

struct Statistics {
  Tensor mean, variance;
};

}  // namespace

TEST_CASE("layer_norm keeps its accuracy far from 0 in f32") {
  // f32 values near 1000 are 6e-5 apart.
  std::vector<float> numbers;
  for (int i = 0; i < 512; ++i)
    numbers.push_back(1000.0f + static_cast<float>(i * 37 % 512) / 1024);
  const Tensor x = tensor(numbers, {512});
  const Tensor y = layer_norm(x).to(Dtype::f64), exact = layer_norm(x.to(Dtype::f64));
  // The mean may have an error of an ulp of 1000; the standard deviation is 0.144.
  CHECK(near(y.to_vector<double>(), exact.to_vector<double>(), 6e-5 / 0.144));
}

TEST_CASE("a constant row gives the bias, and a NaN affects only its row") {
  const Tensor bias = tensor({1, 2, 3}, Dtype::f64);
  const double nan = std::nan("");
  const Tensor x = tensor({{5, 5, 5}, {1, nan, 2}, {1, 2, 3}}, Dtype::f64);
  const std::vector<double> y = layer_norm(x, {}, bias).to_vector<double>();
  CHECK(y[0] == 1);
  CHECK(y[1] == 2);
  CHECK(y[2] == 3);
  for (std::size_t i = 3; i < 6; ++i) CHECK(std::isnan(y[i]));
  for (std::size_t i = 6; i < 9; ++i) CHECK(std::isfinite(y[i]));
  const std::vector<double> z = rms_norm(x).to_vector<double>();
  for (std::size_t i = 3; i < 6; ++i) CHECK(std::isnan(z[i]));
  CHECK(std::isfinite(z[6]));
  CHECK(rms_norm(zeros({3}, Dtype::f64)).to_vector<double>() == std::vector<double>{0, 0, 0});
}

TEST_CASE("writing to the input of a norm before backward throws") {
  const Tensor weight = ones({3}).requires_grad_();
  Tensor x = ones({2, 3});
  const Tensor y = layer_norm(x, weight);
  x.fill_(2);
  CHECK_THROWS_AS(y.backward(ones({2, 3})), GraphError);
}

TEST_CASE("batch_norm updates running statistics with the unbiased variance") {
  const Tensor x = tensor({{1, 10}, {3, 10}, {8, 40}}, Dtype::f64);
  for (const bool formula : {false, true}) {
    const FormulaScope scope(formula);
    const Statistics running{tensor({1, 0}, Dtype::f64), ones({2}, Dtype::f64)};
    batch_norm(x, {}, {}, running.mean, running.variance, true, {.momentum = 0.25});
    // The means are 4 and 20; the sums of squared deviations are 26 and 600.
    CHECK(near(running.mean.to_vector<double>(), {1.75, 5}, 1e-15));
    CHECK(near(running.variance.to_vector<double>(), {0.75 + 0.25 * 13, 0.75 + 0.25 * 300}, 1e-13));
    const Tensor before = running.mean.clone();
    batch_norm(x, {}, {}, running.mean, running.variance, false);
    CHECK(running.mean.to_vector<double>() == before.to_vector<double>());
  }
}

TEST_CASE("batch_norm accepts momentum 0 and 1 and applies it in double") {
  const Tensor x = tensor({{2, 0}, {6, 4}}, Dtype::f64);  // means 4 and 2, variances 8
  for (const double momentum : {0.0, 0.1, 1.0}) {
    const Statistics running{tensor({1, 2}, Dtype::f64), tensor({3, 8}, Dtype::f64)};
    batch_norm(x, {}, {}, running.mean, running.variance, true, {momentum, 0});
    CHECK(near(running.mean.to_vector<double>(), {1 + momentum * 3, 2}, 1e-15));
    CHECK(near(running.variance.to_vector<double>(), {3 + momentum * 5, 8}, 2e-15));
  }
}

TEST_CASE("batch_norm in evaluation uses the running statistics") {
  const Tensor x = tensor({{3, 5}}, Dtype::f64);
  const Tensor y =
      batch_norm(x, tensor({2, 1}, Dtype::f64), tensor({0, 7}, Dtype::f64),
                 tensor({1, 5}, Dtype::f64), tensor({4, 9}, Dtype::f64), false, {0.1, 0});
  CHECK(near(y.to_vector<double>(), {2, 7}, 1e-15));
}

}  // namespace gradus::testing::test_norm
