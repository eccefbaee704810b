#include "gradus/ops/loss.h"

#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>

#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/softmax.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing::test_loss {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("when every target is ignored, the mean is 0 with gradient 0") {
  for (const bool formula : {false, true}) {
    const FormulaScope scope(formula);
    const Tensor x = values({2, 3}).requires_grad_();
    const Tensor loss = cross_entropy(x, indices({-100, -100}));
    CHECK(loss.item() == 0);
    loss.backward();
    CHECK(x.grad().to_vector<double>() == std::vector<double>(6, 0));
  }
  CHECK(cross_entropy(zeros({0, 3}), tensor(std::vector<std::int64_t>{}, {0})).item() == 0);
}

TEST_CASE("an ignored row may hold NaN, and its gradient is 0") {
  for (const bool formula : {false, true}) {
    const FormulaScope scope(formula);
    const Tensor x = tensor({{1, 2, 3}, {std::nan(""), kInfinity, 0}}, Dtype::f64).requires_grad_();
    const Tensor loss = cross_entropy(x, indices({1, -1}), {.ignore_index = -1});
    CHECK(std::isfinite(loss.item()));
    loss.backward();
    const std::vector<double> dx = x.grad().to_vector<double>();
    for (std::size_t i = 0; i < 3; ++i) CHECK(dx[i] != 0);
    for (std::size_t i = 3; i < 6; ++i) CHECK(dx[i] == 0);
  }
}

TEST_CASE("cross_entropy of equal logits is log V, and of extreme logits finite") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const double ulps = dtype == Dtype::f32 ? 1e-6 : 1e-15;  // a few ulps of log 65 = 4.2
    const Tensor equal = full({3, 65}, 12345, dtype);
    CHECK(std::abs(cross_entropy(equal, indices({0, 64, 7})).item() - std::log(65.0)) < ulps);
    const Tensor far = tensor({{3e4, -3e4}, {-3e4, 3e4}}, dtype);
    const Tensor target = indices({0, 0});
    CHECK(cross_entropy(far, target, {.reduction = Reduction::sum}).item() == 6e4);
  }
}

TEST_CASE("the second derivative of cross_entropy in f32 equals that in f64, rounded") {
  const auto second = [](Dtype dtype) {
    const Tensor x = values({2, 3}).to(dtype).requires_grad_();
    const Tensor loss = cross_entropy(x, indices({2, 0}), {.label_smoothing = 0.25});
    const Tensor dx = grad({loss}, {x}, {ones({}, dtype)}, {.create_graph = true})[0];
    CHECK(dx.dtype() == dtype);
    const Tensor d = grad({dx}, {x}, {values({2, 3}, 1).to(dtype)})[0];
    return d.to(Dtype::f64).to_vector<double>();
  };
  CHECK(near(second(Dtype::f32), second(Dtype::f64), 1e-6));  // values are below 1
}

TEST_CASE("cross_entropy of −∞ rows is +∞ with gradient 0, and of NaN rows NaN") {
  for (const bool formula : {false, true}) {
    const FormulaScope scope(formula);
    const Tensor x = tensor({{-kInfinity, -kInfinity}, {1, 1}, {std::nan(""), 1}}, Dtype::f64);
    const Tensor leaf = x.clone().requires_grad_();
    const Tensor each = cross_entropy(leaf, indices({0, 1, 1}), {.reduction = Reduction::none});
    const std::vector<double> loss = each.to_vector<double>();
    CHECK(loss[0] == kInfinity);
    CHECK(std::abs(loss[1] - std::log(2.0)) < 1e-15);
    CHECK(std::isnan(loss[2]));
    each.backward(ones({3}, Dtype::f64));
    const std::vector<double> dx = leaf.grad().to_vector<double>();
    CHECK(near({dx.begin(), dx.begin() + 4}, {0, 0, 0.5, -0.5}, 1e-15));
    CHECK(std::isnan(dx[4]));
  }
}

TEST_CASE("cross_entropy sums in double precision") {
  // A running f32 sum of 200000 losses of 0.69 would have a relative error of about 1e-3.
  const Tensor x = zeros({200000, 2}, Dtype::f32);
  const Tensor target = tensor(std::vector<std::int64_t>(200000, 1), {200000});
  CHECK(std::abs(cross_entropy(x, target).item() - std::log(2.0)) < 1e-7);  // two ulps of f32
}

TEST_CASE("the gradient of cross_entropy reuses only logits without other users") {
  const Tensor target = indices({0, 2, 1});
  Tensor x = values({3, 4}).requires_grad_();
  const auto first = [&](bool keep) {
    x.set_grad(Tensor());
    Tensor logits = x * 2.0;
    const std::vector<double> before = logits.to_vector<double>();
    const Tensor loss = cross_entropy(logits, target);
    if (!keep) logits = Tensor();
    loss.backward();
    if (keep) CHECK(logits.to_vector<double>() == before);
    return x.grad().to_vector<double>();
  };
  CHECK(first(true) == first(false));
  const Tensor loss = cross_entropy(x * 2.0, target);
  x.set_grad(Tensor());
  loss.backward({.keep_graph = true});
  const std::vector<double> once = x.grad().to_vector<double>();
  x.set_grad(Tensor());
  loss.backward();
  CHECK(x.grad().to_vector<double>() == once);
}

TEST_CASE("a target out of range is reported with its position and the range") {
  const Tensor x = ones({2, 3, 5});
  for (const std::int64_t bad : {5, -1}) {
    const Tensor target = tensor(std::vector<std::int64_t>{0, 1, 2, 3, bad, 4}, {2, 3});
    CHECK_REFUSES(IndexError, nll_loss(x, target), "nll_loss", "[1, 1]");
    CHECK_REFUSES(IndexError, cross_entropy(x, target), "cross_entropy", std::to_string(bad),
                  "[1, 1]", "[0, 5)", "ignore_index");
  }
}

TEST_CASE("bce_with_logits is exact in both tails, and its slope at 0 is ½ − t") {
  const Tensor x = tensor({100, -100, 0}, Dtype::f64).requires_grad_();
  const Tensor target = tensor({1, 0, 0.25}, Dtype::f64);
  const Tensor each = bce_with_logits(x, target, Reduction::none);
  const std::vector<double> loss = each.to_vector<double>();
  CHECK(std::abs(loss[0] / std::exp(-100.0) - 1) < 1e-14);
  CHECK(std::abs(loss[1] / std::exp(-100.0) - 1) < 1e-14);
  CHECK(std::abs(loss[2] - std::log(2.0)) < 1e-15);
  each.backward(ones({3}, Dtype::f64));
  CHECK(std::abs(x.grad().to_vector<double>()[2] - 0.25) < 1e-15);
}

TEST_CASE("l1_loss has slope 0 at its kink, and huber_loss is a parabola there") {
  Tensor x = tensor({2, 2.5, 7}, Dtype::f64).requires_grad_();
  const Tensor t = full({3}, 2, Dtype::f64);
  l1_loss(x, t, Reduction::sum).backward();
  CHECK(x.grad().to_vector<double>() == std::vector<double>{0, 1, 1});
  x.set_grad(Tensor());
  huber_loss(x, t, 1, Reduction::sum).backward();
  CHECK(x.grad().to_vector<double>() == std::vector<double>{0, 0.5, 1});
}

TEST_CASE("kl_div and soft targets treat 0 · −∞ as 0") {
  const Tensor p = tensor({0, 1}, Dtype::f64);
  const Tensor log_q = tensor({-kInfinity, -0.5}, Dtype::f64).requires_grad_();
  const Tensor kl = kl_div(log_q, p, Reduction::sum);
  CHECK(kl.item() == 0.5);
  kl.backward();
  CHECK(log_q.grad().to_vector<double>() == std::vector<double>{0, -1});
  const Tensor logits = tensor({{-kInfinity, 3, 3}}, Dtype::f64).requires_grad_();
  const Tensor soft = cross_entropy_soft(logits, tensor({{0, 0.5, 0.5}}, Dtype::f64));
  CHECK(std::abs(soft.item() - std::log(2.0)) < 1e-15);
  soft.backward();
  CHECK(near(logits.grad().to_vector<double>(), {0, 0, 0}, 1e-15));
}

namespace {

TEST_CASE("log_softmax of rows of one element has gradient 0") {
  const Tensor x = tensor(std::vector<double>{-kInfinity, 1}, {2, 1}).requires_grad_();
  sum(log_softmax(x)).backward();
  expect(numbers(x.grad()) == Numbers{0, 0}, "rows of one element, one of them hidden");
}

/// Tests the formula and the kernel. The upstream gradient 1/3 is not exact in f32, so the test
/// detects rounding to f32.
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

TEST_CASE("cross_entropy gradients are right next to ignored and −∞ rows") {
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
  both_ways(x, ids({0, 1}, {2}), {.weight = fine}, {c, -c, -d, d},
            "weights that f32 cannot represent");
  const Tensor learns = tensor({2.0, 5.0}, Dtype::f64).requires_grad_();
  CHECK_REFUSES(GraphError, cross_entropy(x, ids({0, 1}, {2}), {.weight = learns}), "cross_entropy",
                "detach()");
  {
    const NoGrad off;
    cross_entropy(x, ids({0, 1}, {2}), {.weight = learns});
  }
}

/// Powers of two make the gradients exact.
TEST_CASE("label smoothing gives exact gradients") {
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

TEST_CASE("cross_entropy accepts an ignore_index above 2^24") {
  constexpr std::int64_t kIgnored = (1 << 24) + 1;  // not representable in f32
  const Tensor x = tensor(std::vector<double>{kNan, 0, 0, 1}, {2, 2}).requires_grad_();
  const double p = 1 / (1 + std::exp(-1.0));
  const auto check = [&] {
    both_ways(x, ids({kIgnored, 1}, {2}), {.ignore_index = kIgnored}, {0, 0, 1 - p, p - 1},
              "an ignored target that f32 cannot represent");
  };
  check();
  const FormulaScope formula;
  check();
}

TEST_CASE("nll_loss applies weights and ignored targets") {
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

TEST_CASE("cross_entropy_soft handles hidden classes and targets of 0") {
  const Tensor x = tensor(std::vector<double>{0, 0, -kInfinity}, {1, 3});
  const Tensor p = tensor(std::vector<double>{1, 0, 0}, {1, 3}).requires_grad_();
  const Tensor loss = cross_entropy_soft(x, p);
  loss.backward();
  const double log2 = std::log(2.0);
  expect(near(numbers(loss), {log2}), "a hidden class that is not the target");
  expect(near(numbers(p.grad()), {log2, log2, 0}), "the gradient of soft targets, including 0");
  const Tensor meant = tensor(std::vector<double>{0.5, 0, 0.5}, {1, 3});
  expect(cross_entropy_soft(x, meant).item() == kInfinity, "a hidden class that is the target");
}

TEST_CASE("kl_div has gradients for log q and for the target, even at a target of 0") {
  const Tensor log_q = tensor({-1.0, -2.0}, Dtype::f64).requires_grad_();
  const Tensor t = tensor({0.0, 0.5}, Dtype::f64).requires_grad_();
  kl_div(log_q, t, Reduction::sum).backward();
  expect(near(numbers(log_q.grad()), {0, -0.5}), "the gradient of kl_div with respect to log q");
  expect(near(numbers(t.grad()), {0, std::log(0.5) + 2 + 1}),
         "the gradient of kl_div with respect to the target, including 0");
}

}  // namespace
}  // namespace gradus::testing::test_loss
