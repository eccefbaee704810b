// Losses: ignored and hidden rows, class weights, targets that are 0.
#include <cmath>
#include <limits>

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/loss.h"
#include "gradus/ops/softmax.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("softmax edges") {
  const Tensor x = tensor(std::vector<double>{-kInfinity, 1}, {2, 1}).requires_grad_();
  sum(log_softmax(x)).backward();
  expect(numbers(x.grad()) == Numbers{0, 0}, "rows of one element, one of them hidden");
}

/// The gradient of cross_entropy by x, as the formula gives it and as the kernel does. A third has
/// no end in binary: what is cut to f32 on the way is seen.
void both_ways(const Tensor& x, const Tensor& target, const CrossEntropyOptions& options,
               const Numbers& expected, const std::string& what) {
  for (const bool recorded : {false, true}) {
    const Tensor loss = cross_entropy(x, target, options);
    const Tensor third = Tensor::empty(loss.shape(), Dtype::f64).fill_(1.0 / 3);
    Numbers tripled = numbers(grad({loss}, {x}, {third}, {.create_graph = recorded})[0]);
    for (double& v : tripled) v *= 3;
    expect(near(tripled, expected, 1e-14), what);
  }
}

TEST_CASE("cross_entropy edges") {
  const double e = std::exp(1.0), p = e / (1 + e);
  const Tensor odd = tensor(std::vector<double>{kNan, 0, 0, 1}, {2, 2}).requires_grad_();
  both_ways(odd, ids({-100, 1}, {2}), {}, {0, 0, 1 - p, p - 1}, "an ignored row of NaN");
  const Tensor hidden =
      tensor(std::vector<double>{-kInfinity, -kInfinity, 0, 1}, {2, 2}).requires_grad_();
  both_ways(hidden, ids({0, 1}, {2}), {.reduction = Reduction::sum}, {0, 0, 1 - p, p - 1},
            "a row of −∞");
  const Tensor spaced =
      kernel::strided_view(tensor({2.0, 9.0, 5.0, 9.0}, Dtype::f64), {2}, {2}, 0);  // 2, 5
  const Tensor x = tensor(std::vector<double>{1, 0, 0, 1}, {2, 2}).requires_grad_();
  const double a = 2 * (p - 1), b = 5 * (p - 1);
  both_ways(x, ids({0, 1}, {2}), {.weight = spaced, .reduction = Reduction::sum}, {a, -a, -b, b},
            "class weights with a stride");
  const Tensor fine = tensor({0.1, 0.7}, Dtype::f64);
  const double c = 0.1 / 0.8 * (p - 1), d = 0.7 / 0.8 * (p - 1);
  both_ways(x, ids({0, 1}, {2}), {.weight = fine}, {c, -c, -d, d}, "weights that f32 cannot hold");
  expect_error<IndexError>("[0, 1]", [&] {
    cross_entropy(values({3, 2, 4}), ids({0, 9, 2, 3, 0, 1}, {3, 2}));
  });
  const Tensor learns = tensor({2.0, 5.0}, Dtype::f64).requires_grad_();
  {
    const NoGrad off;
    cross_entropy(x, ids({0, 1}, {2}), {.weight = learns});
  }
}

/// With an upstream gradient of ±4 what is spread is ±1 a class; powers of two keep numbers exact.
TEST_CASE("smoothing edges") {
  const Tensor x = tensor(std::vector<double>{0.5, 0}, {1, 2}).requires_grad_();
  const CrossEntropyOptions options{.label_smoothing = 0.5, .reduction = Reduction::sum};
  const auto gradient = [&](double upstream) {
    const Tensor up = tensor(upstream, Dtype::f64);
    return numbers(grad({cross_entropy(x, ids({1}, {1}), options)}, {x}, {up})[0]);
  };
  const Numbers once = gradient(1);
  expect(gradient(4) == Numbers{4 * once[0], 4 * once[1]}, "smoothing, times 4");
  expect(gradient(-4) == Numbers{-4 * once[0], -4 * once[1]}, "smoothing, times −4");
}

TEST_CASE("far ignored") {
  constexpr std::int64_t kIgnored = (1 << 24) + 1;  // f32 has no such number
  const Tensor x = tensor(std::vector<double>{kNan, 0, 0, 1}, {2, 2}).requires_grad_();
  const double p = 1 / (1 + std::exp(-1.0));
  const auto check = [&] {
    both_ways(x, ids({kIgnored, 1}, {2}), {.ignore_index = kIgnored}, {0, 0, 1 - p, p - 1},
              "an ignored target that f32 cannot hold");
  };
  check();
  const FormulaScope formula;
  check();
}

TEST_CASE("nll edges") {
  const Tensor log_p = log_softmax(values({2, 2, 3}));
  const Tensor w = tensor({2.0, 3.0, 5.0}, Dtype::f64), target = ids({0, 2, 1, 0}, {2, 2});
  const Numbers v = numbers(log_p);
  const Numbers expected{-2 * v[0], -5 * v[5], -3 * v[7], -2 * v[9]};
  const Tensor loss = nll_loss(log_p, target, {.weight = w, .reduction = Reduction::none});
  const Tensor only = log_softmax(values({2, 1}));
  expect(nll_loss(only, ids({0, -100}, {2})).item() == 0, "one class, and an ignored target");
  expect(near(numbers(nll_loss(log_p, target, {.weight = w / 10.0})),
              {-(2 * v[0] + 5 * v[5] + 3 * v[7] + 2 * v[9]) / 12}, 1e-14),
         "the mean divides by the weights");
  expect(loss.shape() == Shape{2, 2} && near(numbers(loss), expected),
         "weights of targets in two axes");
}

TEST_CASE("soft targets") {
  const Tensor x = tensor(std::vector<double>{0, 0, -kInfinity}, {1, 3});
  const Tensor p = tensor(std::vector<double>{1, 0, 0}, {1, 3}).requires_grad_();
  const Tensor loss = cross_entropy_soft(x, p);
  loss.backward();
  const double log2 = std::log(2.0);
  expect(near(numbers(loss), {log2}), "a class that is hidden and not meant");
  expect(near(numbers(p.grad()), {log2, log2, 0}), "the gradient by soft targets, 0 among them");
  const Tensor meant = tensor(std::vector<double>{0.5, 0, 0.5}, {1, 3});
  expect(cross_entropy_soft(x, meant).item() == kInfinity, "a class that is hidden and meant");
}

TEST_CASE("divergence") {
  const Tensor log_q = tensor({-1.0, -2.0}, Dtype::f64).requires_grad_();
  const Tensor t = tensor({0.0, 0.5}, Dtype::f64).requires_grad_();
  kl_div(log_q, t, Reduction::sum).backward();
  expect(near(numbers(log_q.grad()), {0, -0.5}), "kl_div by log q");
  expect(near(numbers(t.grad()), {0, std::log(0.5) + 2 + 1}), "kl_div by the target, 0 among it");
}

}  // namespace
}  // namespace gradus::testing
