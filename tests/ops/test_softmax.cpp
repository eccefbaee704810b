#include "gradus/ops/softmax.h"

#include <cmath>
#include <limits>

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing::test_softmax {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Function = Tensor (*)(const Tensor&, int);

/// Computes the gradient by the formula or by the kernel.
std::vector<double> gradient(Function f, const Tensor& x, const Tensor& dy, bool formula) {
  const FormulaScope scope(formula);
  const Tensor leaf = x.clone().requires_grad_();
  f(leaf, -1).backward(dy);
  return leaf.grad().to_vector<double>();
}

}  // namespace

TEST_CASE("softmax of a row of −∞ is 0 with gradient 0, and other rows are unaffected") {
  const Tensor x = tensor({{-kInfinity, -kInfinity, -kInfinity}, {-kInfinity, 2, 2}}, Dtype::f64);
  const Tensor dy = tensor({{1, 2, 3}, {5, 1, 3}}, Dtype::f64);
  CHECK(softmax(x).to_vector<double>() == std::vector<double>{0, 0, 0, 0, 0.5, 0.5});
  for (const bool formula : {false, true})
    CHECK(gradient(softmax, x, dy, formula) == std::vector<double>{0, 0, 0, 0, -0.5, 0.5});
}

TEST_CASE("log_softmax of a row of −∞ is −∞ with gradient 0") {
  const Tensor x = tensor({{-kInfinity, -kInfinity, -kInfinity}, {-kInfinity, 2, 2}}, Dtype::f64);
  const Tensor dy = tensor({{1, 2, 3}, {5, 1, 3}}, Dtype::f64);
  const std::vector<double> y = log_softmax(x).to_vector<double>();
  for (std::size_t i = 0; i < 4; ++i) CHECK(y[i] == -kInfinity);
  CHECK(std::abs(y[4] + std::log(2.0)) < 1e-15);  // one or two ulps of 0.69
  for (const bool formula : {false, true}) {
    const std::vector<double> dx = gradient(log_softmax, x, dy, formula);
    const double expected[] = {0, 0, 0, 5, 1 - 4.5, 3 - 4.5};
    for (std::size_t i = 0; i < 6; ++i) CHECK(std::abs(dx[i] - expected[i]) < 1e-14);
  }
}

TEST_CASE("a NaN or +∞ makes only its row NaN") {
  for (const double special : {std::nan(""), kInfinity}) {
    for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
      Tensor x = ones({3, 41}, dtype);  // longer than one vector of either dtype
      Tensor one = kernel::strided_view(x, {1}, {1}, 41 + 37);
      one.fill_(special);
      for (const Function f : {Function{softmax}, Function{log_softmax}}) {
        const std::vector<double> y = f(x, -1).to(Dtype::f64).to_vector<double>();
        for (std::size_t i = 41; i < 82; ++i) CHECK(std::isnan(y[i]));
        CHECK(std::isfinite(y[40]));
        CHECK(std::isfinite(y[82]));
      }
    }
  }
}

TEST_CASE("softmax of large values neither overflows nor loses accuracy") {
  const Tensor x = tensor({1000, 1001, -1000}, Dtype::f64);
  const std::vector<double> y = softmax(x).to_vector<double>();
  CHECK(std::abs(y[1] - 1 / (1 + std::exp(-1.0))) < 1e-15);
  CHECK(y[2] == 0);
  const std::vector<double> log_y = log_softmax(x).to_vector<double>();
  // An ulp of 2001.3 is 2.3e-13.
  CHECK(std::abs(log_y[2] + 2001 + std::log1p(std::exp(-1.0))) < 5e-13);
}

}  // namespace gradus::testing::test_softmax
