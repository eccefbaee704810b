// Lion, Muon, averages of weights, groups and freezing by name, steps within backward.
#include <cmath>
#include <memory>

#include "gradus/engine/grad_mode.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/registry.h"
#include "gradus/tests/support/thrown.h"
#include "gradus/train/ema.h"
#include "gradus/train/groups.h"
#include "gradus/train/muon.h"

namespace gradus::testing {
namespace {

using Matrix = std::vector<std::vector<double>>;

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out(a.size(), std::vector<double>(b[0].size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b[0].size(); ++j)
      for (std::size_t k = 0; k < b.size(); ++k) out[i][j] += a[i][k] * b[k][j];
  return out;
}

Matrix turned(const Matrix& a) {
  Matrix out(a[0].size(), std::vector<double>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[0].size(); ++j) out[j][i] = a[i][j];
  return out;
}

Matrix sum_of(double s, const Matrix& a, double t, const Matrix& b) {
  Matrix out = a;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[0].size(); ++j) out[i][j] = s * a[i][j] + t * b[i][j];
  return out;
}

Matrix matrix_of(const Tensor& x) {
  const std::vector<double> numbers = x.to_vector<double>();
  Matrix out(static_cast<std::size_t>(x.size(0)));
  const auto columns = static_cast<std::ptrdiff_t>(x.size(1));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i].assign(numbers.begin() + static_cast<std::ptrdiff_t>(i) * columns,
                  numbers.begin() + static_cast<std::ptrdiff_t>(i + 1) * columns);
  return out;
}

/// The odd polynomial a x + b x³ + c x⁵ of a matrix, five times, always with X Xᵀ on the left.
Matrix orthogonal(Matrix x) {
  double squares = 0;
  for (const auto& row : x)
    for (const double each : row) squares += each * each;
  x = sum_of(1 / std::sqrt(squares), x, 0, x);
  for (int i = 0; i < 5; ++i) {
    const Matrix gram = product(x, turned(x)), cube = product(gram, x);
    x = sum_of(1, sum_of(3.4445, x, -4.7750, cube), 2.0315, product(gram, cube));
  }
  return x;
}

double largest_difference(const Matrix& a, const Matrix& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[0].size(); ++j)
      most = std::max(most, std::abs(a[i][j] - b[i][j]));
  return most;
}

TEST_CASE("Newton-Schulz makes a matrix nearly orthogonal, whichever side is longer") {
  for (const Shape& shape : {Shape{3, 7}, Shape{7, 3}, Shape{5, 5}, Shape{1, 4}}) {
    const Tensor x = values(shape);
    // in another order of products: roundings, magnified by slopes of 3.4 in each of five rounds
    CHECK(largest_difference(matrix_of(optim::newton_schulz(x)), orthogonal(matrix_of(x))) < 1e-12);
  }
  // a diagonal stays one, and its entries come between 0.68 and 1.14
  const Tensor d = tensor(std::vector<double>{3, 0, 0, 0, -1, 0, 0, 0, 0.5}, {3, 3});
  const Matrix y = matrix_of(optim::newton_schulz(d));
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      if (i != j) CHECK(y[i][j] == 0);
      if (i == j) CHECK(std::abs(std::abs(y[i][i]) - 0.91) < 0.24);
    }
  CHECK(y[1][1] < 0);
  CHECK(optim::newton_schulz(zeros({2, 3})).to_vector<float>() == std::vector<float>(6));
  CHECK_THROWS_AS(optim::newton_schulz(zeros({3})), ShapeError);
}

TEST_CASE("Muon moves matrices by its formula, clipped gradients too, and the others as AdamW") {
  Tensor w = values({5, 3}).clone().requires_grad_(), b = values({4}).clone().requires_grad_();
  Tensor alone = values({4}).clone().requires_grad_();
  optim::Muon muon({{{"w", w}}}, {{{"b", b}}}, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01});
  optim::AdamW adam({{"b", alone}}, {.lr = 3e-4, .weight_decay = 0.01});
  Matrix p = matrix_of(w), buffer(5, std::vector<double>(3));
  for (int step = 1; step <= 4; ++step) {
    w.set_grad(values({5, 3}, step));
    b.set_grad(values({4}, step));
    alone.set_grad(b.grad() * 1.0);
    const Matrix g = matrix_of(w.grad());
    const double norm = muon.step({.factor = 0.5});
    adam.step({.factor = 0.5});
    CHECK(norm > 0);
    buffer = sum_of(0.9, buffer, 0.1, g);
    const double rate = 0.1 * 0.5 * std::sqrt(5.0 / 3.0);
    p = sum_of(1 - 0.05 * 0.01, p, -rate, turned(orthogonal(turned(sum_of(0.1, g, 0.9, buffer)))));
    CHECK(largest_difference(matrix_of(w), p) < 1e-12);
    CHECK(b.to_vector<double>() == alone.to_vector<double>());
  }
}

TEST_CASE("Lion moves every number by the rate, along the sign of a mixture") {
  Tensor p = values({7}).clone().requires_grad_();
  optim::Lion lion({{"p", p}}, {.lr = 0.125, .weight_decay = 0.5});
  std::vector<double> expected = p.to_vector<double>(), m(7);
  for (int t = 1; t <= 6; ++t) {
    p.set_grad(values({7}, t));
    const std::vector<double> g = p.grad().to_vector<double>();
    lion.step({.factor = 0.5});
    for (std::size_t i = 0; i < 7; ++i) {
      const double c = 0.9 * m[i] + 0.1 * g[i];
      expected[i] -= 0.0625 * ((c > 0 ? 1 : c < 0 ? -1 : 0) + 0.5 * expected[i]);
      m[i] = 0.99 * m[i] + 0.01 * g[i];
      CHECK(std::abs(p.to_vector<double>()[i] - expected[i]) <= 1e-14);
    }
  }
  Tensor still = values({3}).clone().requires_grad_();
  const std::vector<double> before = still.to_vector<double>();
  optim::Lion waits({{"still", still}}, {.lr = 0.5});
  still.set_grad(zeros_like(still));
  waits.step();
  CHECK(still.to_vector<double>() == before);  // the sign of 0 is 0
}

struct Net : nn::Layer<Net> {
  nn::Linear encoder{3, 8}, head{8, 2};
  nn::Members members() override { return {{"encoder", encoder}, {"head", head}}; }
  Tensor forward(const Tensor& x) const { return head(tanh(encoder(x))); }  // [N, 3] → [N, 2]
};

using Made = std::unique_ptr<optim::Optimizer>;
std::vector<std::pair<std::string, std::function<Made(Net&)>>> every_optimiser() {
  return {{"SGD",
           [](Net& n) -> Made {
             return std::make_unique<optim::SGD>(
                 n.parameters(), optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .nesterov = true});
           }},
          {"AdamW",
           [](Net& n) -> Made {
             return std::make_unique<optim::AdamW>(n.parameters(), optim::AdamWOptions{.lr = 0.02});
           }},
          {"Lion",
           [](Net& n) -> Made {
             return std::make_unique<optim::Lion>(n.parameters(), optim::LionOptions{.lr = 0.01});
           }},
          {"Muon", [](Net& n) -> Made {
             const optim::MuonGroups g = optim::muon_groups(n.parameters());
             return std::make_unique<optim::Muon>(
                 g.matrices, g.others, optim::MuonOptions{.lr = 0.02, .adam = {.lr = 0.02}});
           }}};
}

std::vector<float> numbers(const Net& net) {
  std::vector<float> out;
  for (const nn::NamedTensor& each : net.parameters()) {
    const std::vector<float> more = each.tensor.to_vector<float>();
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

TEST_CASE("every optimiser learns a small problem, and goes on from its state bit for bit") {
  seed(3);
  const Tensor x = randn({32, 3}), y = stack({sum(x, {1}), sum(square(x), {1})}, 1);
  for (const auto& [name, make] : every_optimiser()) {
    INFO(name);
    seed(7);
    Net whole, stopped;
    for (std::size_t i = 0; i < 4; ++i) {
      const NoGrad off;
      stopped.parameters()[i].tensor.copy_(whole.parameters()[i].tensor);
    }
    const auto train = [&](Net& net, optim::Optimizer& optimizer, int steps) {
      double loss = 0;
      for (int i = 0; i < steps; ++i) {
        const Tensor now = mse_loss(net(x), y);
        optimizer.zero_grad();
        now.backward();
        optimizer.step({.clip_norm = 1});
        loss = now.item();
      }
      return loss;
    };
    const double at_first = mse_loss(whole(x), y).item();
    const Made first = make(whole), second = make(stopped);
    CHECK(train(whole, *first, 200) < 0.2 * at_first);
    train(stopped, *second, 120);
    std::map<std::string, Tensor> saved;
    for (const auto& [key, tensor] : second->state_dict()) saved[key] = tensor.clone();
    const Made third = make(stopped);
    third->load_state_dict(saved);
    train(stopped, *third, 80);
    CHECK(numbers(stopped) == numbers(whole));
  }
}

TEST_CASE("a step within backward is the step after it, and no gradient is left") {
  seed(3);
  const Tensor x = randn({16, 3}), y = randn({16, 2});
  for (const auto& [name, make] : every_optimiser()) {
    INFO(name);
    Net one, other;
    {
      const NoGrad off;
      for (std::size_t i = 0; i < 4; ++i)
        other.parameters()[i].tensor.copy_(one.parameters()[i].tensor);
    }
    {
      const Made after = make(one), within = make(other);
      for (int step = 0; step < 5; ++step) {
        after->zero_grad();
        mse_loss(one(x), y).backward();
        after->step({.factor = 0.5});
        const Tensor loss = mse_loss(other(x), y) + 0.0 * sum(square(other.head.weight));
        within->step_in_backward(0.5);
        loss.backward();  // head.weight is used twice: it waits for both
        for (const nn::NamedTensor& each : other.parameters())
          CHECK_FALSE(each.tensor.grad().defined());
      }
      CHECK(within->steps() == 5);
      CHECK(numbers(one) == numbers(other));
      mse_loss(other(x), y).backward();  // not asked: gradients stay, as ever
      CHECK(other.encoder.weight.grad().defined());
    }
    other.zero_grad();
    const std::vector<float> before = numbers(other);
    mse_loss(other(x), y).backward();  // the optimiser is gone
    CHECK(numbers(other) == before);
  }
}

TEST_CASE("an average of the weights goes on from its state, and gives the weights back") {
  Tensor p = values({5}).clone().requires_grad_();
  optim::EMA ema({{"p", p}}, 0.75);
  const std::vector<double> before = p.to_vector<double>();
  { const optim::EMA::Scope none(ema); }  // not yet an average
  CHECK(p.to_vector<double>() == before);
  ema.update();
  p.set_grad(ones_like(p));
  optim::SGD({{"p", p}}, {.lr = 1}).step();
  ema.update();
  {
    const optim::EMA::Scope averaged(ema);
    for (std::size_t i = 0; i < 5; ++i)
      CHECK(std::abs(p.to_vector<double>()[i] - (before[i] - 0.25)) < 1e-15);
  }
  for (std::size_t i = 0; i < 5; ++i) CHECK(p.to_vector<double>()[i] == before[i] - 1);
  optim::EMA again({{"p", p}}, 0.75);
  again.load_state_dict(ema.state_dict());
  ema.update(), again.update();
  CHECK(again.state_dict().at("p").to_vector<double>() ==
        ema.state_dict().at("p").to_vector<double>());
  CHECK(again.state_dict().at("updates").item() == 3);

  CHECK_REFUSES(ValueError, optim::EMA bad({{"p", p}}, 1), "EMA", "1", "0");
  CHECK_THROWS_AS(optim::EMA({}, 0.5), ValueError);
  CHECK_REFUSES(ShapeError, again.load_state_dict({{"p", ones({4}, Dtype::f64)}}), "EMA state",
                "[5]", "[4]");
  CHECK_REFUSES(ShapeError, again.load_state_dict({{"p", p}}), "[]", "i64");
  nn::StateDict more = again.state_dict();
  more["q"] = p;
  CHECK_REFUSES(ShapeError, again.load_state_dict(more), "EMA state");
}

TEST_CASE("patterns find parameters by name") {
  CHECK(optim::matches("encoder.*", "encoder.weight"));
  CHECK(optim::matches("*.bias", "blocks.0.bias"));
  CHECK(optim::matches("blocks.*.attention.*", "blocks.11.attention.qkv.weight"));
  CHECK(optim::matches("*", ""));
  CHECK(optim::matches("a**b", "ab"));
  CHECK_FALSE(optim::matches("encoder", "encoder.weight"));
  CHECK_FALSE(optim::matches("*.bias", "bias"));
  CHECK_FALSE(optim::matches("", "a"));

  Net net;
  optim::freeze(net, "encoder.*");
  CHECK_FALSE(net.encoder.weight.requires_grad());
  CHECK(net.head.weight.requires_grad());
  optim::freeze(net, "*", false);
  CHECK(net.encoder.weight.requires_grad());
  const std::vector<optim::Group> groups =
      optim::groups(net.parameters(), {{"*.bias", -1, 0}, {"encoder.*", 1e-4}});
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].parameters.size() == 2);
  CHECK(groups[0].weight_decay == 0);
  REQUIRE(groups[1].parameters.size() == 1);
  CHECK(groups[1].parameters[0].name == "encoder.weight");
  CHECK(groups[1].lr == 1e-4);
  REQUIRE(groups[2].parameters.size() == 1);
  CHECK(groups[2].parameters[0].name == "head.weight");

  CHECK_REFUSES(ValueError, optim::freeze(net, "encodr.*"), "\"encodr.*\"", "4");
  CHECK_THROWS_AS(optim::groups(net.parameters(), {{"decoder.*"}}), ValueError);
}

TEST_CASE("the newer optimisers say what is wrong") {
  Net net;
  const std::vector<nn::NamedTensor> p = net.parameters();
  CHECK_REFUSES(ValueError, optim::Lion lion(p, {.betas = {0.9, 1}}), "Lion", "0.9", "1");
  CHECK_REFUSES(ShapeError, optim::Muon muon({p}, {}), "Muon", "[8]");
  const optim::MuonGroups groups = optim::muon_groups(p);
  REQUIRE(groups.matrices.parameters.size() == 1);
  CHECK(groups.matrices.parameters[0].name == "encoder.weight");
  CHECK(groups.others.parameters.size() == 3);
  CHECK_REFUSES(ValueError, optim::Muon muon(groups.matrices, groups.others, {.momentum = 1}),
                "Muon", "1", "0");
  CHECK_REFUSES(ValueError, optim::clip_grad_value(p, 0), "clip_grad_value", "0");
}

}  // namespace
}  // namespace gradus::testing
