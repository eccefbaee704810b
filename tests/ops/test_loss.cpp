// Losses: targets that do not count or do not exist, extreme logits, the logits' buffer, threads.
#include "gradus/ops/loss.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>

#include "gradus/base/parallel.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/registry.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Are all of these in the message?
bool says(const std::string& text, std::initializer_list<const char*> parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const char* part) { return has(text, part); });
}

bool near(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= tolerance)) return false;
  return true;
}

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

TEST_CASE("an ignored row may hold anything, and its gradient is 0") {
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

TEST_CASE("cross_entropy of equal logits is log V, of extreme ones finite") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const double ulps = dtype == Dtype::f32 ? 1e-6 : 1e-15;  // of log 65 = 4.2
    const Tensor equal = full({3, 65}, 12345, dtype);
    CHECK(std::abs(cross_entropy(equal, indices({0, 64, 7})).item() - std::log(65.0)) < ulps);
    const Tensor far = tensor({{3e4, -3e4}, {-3e4, 3e4}}, dtype);
    const Tensor target = indices({0, 0});
    CHECK(cross_entropy(far, target, {.reduction = Reduction::sum}).item() == 6e4);
  }
}

TEST_CASE("cross_entropy's second derivative in f32 is that in f64, rounded") {
  const auto second = [](Dtype dtype) {
    const Tensor x = values({2, 3}).to(dtype).requires_grad_();
    const Tensor loss = cross_entropy(x, indices({2, 0}), {.label_smoothing = 0.25});
    const Tensor dx = grad({loss}, {x}, {ones({}, dtype)}, {.create_graph = true})[0];
    CHECK(dx.dtype() == dtype);
    const Tensor d = grad({dx}, {x}, {values({2, 3}, 1).to(dtype)})[0];
    return d.to(Dtype::f64).to_vector<double>();
  };
  CHECK(near(second(Dtype::f32), second(Dtype::f64), 1e-6));  // of numbers below 1
}

TEST_CASE("rows of −∞ and NaN: loss +∞ with gradient 0, and NaN") {
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

TEST_CASE("the loss adds up in double") {
  // In f32 a running sum of 200000 losses of 0.69 would be off by 1e-3 of itself or so.
  const Tensor x = zeros({200000, 2}, Dtype::f32);
  const Tensor target = tensor(std::vector<std::int64_t>(200000, 1), {200000});
  CHECK(std::abs(cross_entropy(x, target).item() - std::log(2.0)) < 1e-7);  // two ulps of f32
}

TEST_CASE("the gradient takes the logits' buffer only if nobody else holds it") {
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

TEST_CASE("a target out of range is named, with its place and the range") {
  const Tensor x = ones({2, 3, 5});
  const auto with = [&](std::int64_t bad) {
    const Tensor target = tensor(std::vector<std::int64_t>{0, 1, 2, 3, bad, 4}, {2, 3});
    const std::string fused = message_of<IndexError>([&] { cross_entropy(x, target); });
    CHECK(says(message_of<IndexError>([&] { nll_loss(x, target); }), {"nll_loss", "[1, 1]"}));
    return fused;
  };
  CHECK(says(with(5), {"cross_entropy", "target 5", "[1, 1]", "[0, 5)", "ignore_index", "-100"}));
  CHECK(says(with(-1), {"cross_entropy", "target -1", "[1, 1]"}));
}

TEST_CASE("cross_entropy says what is wrong with its arguments") {
  const Tensor x = ones({2, 3}), target = indices({0, 1});
  const auto run = [](const Tensor& a, const Tensor& b, const CrossEntropyOptions& o = {}) {
    return [=] { cross_entropy(a, b, o); };
  };
  CHECK(says(message_of<ShapeError>(run(x, indices({0, 1, 2}))),
             {"cross_entropy", "[2, 3]", "target [3]", "must be [2]"}));
  CHECK(says(message_of<ShapeError>(run(tensor(1.0), target)), {"cross_entropy", "[]"}));
  CHECK(says(message_of<DtypeError>(run(x, ones({2}))), {"cross_entropy", "i64", "f32"}));
  CHECK(says(message_of<DtypeError>(run(target, target)), {"cross_entropy", "i64 with i64"}));
  CHECK(
      says(message_of<ValueError>(run(Tensor(), target)), {"cross_entropy", "input is undefined"}));
  CHECK(says(message_of<ValueError>(run(x, Tensor())), {"cross_entropy", "target is undefined"}));
  CHECK(says(message_of<ValueError>(run(x, target, {.label_smoothing = 1})),
             {"label_smoothing is 1"}));
  CHECK(says(message_of<ShapeError>(run(x, target, {.weight = ones({2})})),
             {"cross_entropy", "[2, 3]", "weights [2]", "[3]"}));
  CHECK(says(message_of<DtypeError>(run(x, target, {.weight = ones({3}, Dtype::f64)})),
             {"cross_entropy", "f32", "f64"}));
  CHECK(says(message_of<GraphError>(run(x, target, {.weight = ones({3}).requires_grad_()})),
             {"cross_entropy", "detach()"}));
}

TEST_CASE("the other losses say what is wrong with their arguments") {
  const Tensor a = ones({2, 3}), b = ones({4}), wrong = ones({2, 3}, Dtype::f64);
  const auto check_pair = [&](const char* name,
                              Tensor (*f)(const Tensor&, const Tensor&, Reduction)) {
    const Reduction mean = Reduction::mean;
    CHECK(says(message_of<ShapeError>([&] { f(a, b, mean); }), {name, "[2, 3]", "[4]"}));
    CHECK(says(message_of<DtypeError>([&] { f(a, wrong, mean); }), {name, "f32", "f64"}));
    CHECK(
        says(message_of<ValueError>([&] { f(a, Tensor(), mean); }), {name, "target is undefined"}));
  };
  check_pair("mse_loss", mse_loss);
  check_pair("l1_loss", l1_loss);
  check_pair("bce_with_logits", bce_with_logits);
  check_pair("kl_div", kl_div);
  check_pair("cross_entropy_soft", cross_entropy_soft);
  check_pair("huber_loss", [](const Tensor& x, const Tensor& t, Reduction r) {
    return huber_loss(x, t, 1.0, r);
  });
  CHECK(says(message_of<ValueError>([&] { huber_loss(a, a, 0); }), {"huber_loss: delta is 0"}));
  CHECK(says(message_of<ShapeError>([&] { cross_entropy_soft(a, ones({3})); }),
             {"cross_entropy_soft", "[2, 3]", "[3]"}));
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

TEST_CASE("kinks: l1 has slope 0 where it touches, huber is a parabola there") {
  Tensor x = tensor({2, 2.5, 7}, Dtype::f64).requires_grad_();
  const Tensor t = full({3}, 2, Dtype::f64);
  l1_loss(x, t, Reduction::sum).backward();
  CHECK(x.grad().to_vector<double>() == std::vector<double>{0, 1, 1});
  x.set_grad(Tensor());
  huber_loss(x, t, 1, Reduction::sum).backward();
  CHECK(x.grad().to_vector<double>() == std::vector<double>{0, 0.5, 1});
}

TEST_CASE("kl_div and soft targets count 0 · −∞ as 0") {
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

TEST_CASE("cross_entropy has the same bits with one thread and two") {
  const int threads = num_threads();
  const Tensor x = randn({1021, 67}, Dtype::f32), target = randint(0, 67, {1021});
  std::vector<std::vector<float>> results;
  for (const int n : {1, 2}) {
    set_num_threads(n);
    const Tensor leaf = x.clone().requires_grad_();
    const Tensor loss = cross_entropy(leaf, target, {.label_smoothing = 0.1});
    loss.backward();
    results.push_back(leaf.grad().to_vector<float>());
    results.back().push_back(static_cast<float>(loss.item()));
  }
  set_num_threads(threads);
  CHECK(results[0] == results[1]);
}

}  // namespace gradus::testing
