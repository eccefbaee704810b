// Optimisers against their formulas, written out here in plain doubles.
#include <cmath>

#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/registry.h"
#include "gradus/train/optim.h"

namespace gradus::testing {
namespace {

constexpr std::int64_t kCount = 7;

/// One parameter of seven values, with a gradient that changes from step to step.
struct Problem {
  Tensor p = values({kCount}).clone().requires_grad_();
  std::vector<nn::NamedTensor> parameters() const { return {{"p", p}}; }
  void set_gradient(int step) { p.set_grad(values({kCount}, step + 1)); }
};

using Update = void (*)(double& p, double g, double& m, double& v, int t);

/// Five steps of an optimiser and of its formula must agree: a few roundings of f64 apart.
void compare(optim::Optimizer& optimizer, Problem& problem, Update update) {
  std::vector<double> p = problem.p.to_vector<double>(), m(kCount), v(kCount);
  for (int t = 1; t <= 5; ++t) {
    problem.set_gradient(t);
    const std::vector<double> g = problem.p.grad().to_vector<double>();
    optimizer.step();
    const std::vector<double> now = problem.p.to_vector<double>();
    for (std::size_t i = 0; i < p.size(); ++i) {
      update(p[i], g[i], m[i], v[i], t);
      CAPTURE(t, i, now[i], p[i]);
      CHECK(std::abs(now[i] - p[i]) <= 1e-14 * (1 + std::abs(p[i])));
    }
  }
}

TEST_CASE("SGD, with momentum, Nesterov's, and decay") {
  Problem plain;
  optim::SGD sgd(plain.parameters(), {.lr = 0.1, .weight_decay = 0.01});
  compare(sgd, plain,
          [](double& p, double g, double&, double&, int) { p -= 0.1 * (g + 0.01 * p); });

  Problem heavy;
  optim::SGD momentum(heavy.parameters(), {.lr = 0.1, .momentum = 0.9});
  compare(momentum, heavy, [](double& p, double g, double& m, double&, int) {
    m = 0.9 * m + g;
    p -= 0.1 * m;
  });

  Problem ahead;
  optim::SGD nesterov(ahead.parameters(), {.lr = 0.1, .momentum = 0.9, .nesterov = true});
  compare(nesterov, ahead, [](double& p, double g, double& m, double&, int) {
    m = 0.9 * m + g;
    p -= 0.1 * (g + 0.9 * m);
  });
}

TEST_CASE("Adam and AdamW") {
  Problem with_decay;
  optim::Adam adam(with_decay.parameters(), {.lr = 0.01, .weight_decay = 0.1});
  compare(adam, with_decay, [](double& p, double g, double& m, double& v, int t) {
    g += 0.1 * p;
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    const double m_hat = m / (1 - std::pow(0.9, t)), v_hat = v / (1 - std::pow(0.999, t));
    p -= 0.01 * m_hat / (std::sqrt(v_hat) + 1e-8);
  });

  Problem decoupled;
  optim::AdamW adamw(decoupled.parameters(), {.lr = 0.01, .weight_decay = 0.1});
  compare(adamw, decoupled, [](double& p, double g, double& m, double& v, int t) {
    p -= 0.01 * 0.1 * p;
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    const double m_hat = m / (1 - std::pow(0.9, t)), v_hat = v / (1 - std::pow(0.999, t));
    p -= 0.01 * m_hat / (std::sqrt(v_hat) + 1e-8);
  });
}

TEST_CASE("step returns the norm and counts gradients as clipped to it") {
  Problem problem;
  optim::SGD sgd(problem.parameters(), {.lr = 1});
  problem.set_gradient(1);
  const std::vector<double> g = problem.p.grad().to_vector<double>(),
                            before = problem.p.to_vector<double>();
  double squares = 0;
  for (const double each : g) squares += each * each;
  const double norm = std::sqrt(squares);
  CHECK(std::abs(sgd.step({.clip_norm = 0.5}) - norm) <= 1e-14 * norm);
  const std::vector<double> after = problem.p.to_vector<double>();
  for (std::size_t i = 0; i < g.size(); ++i)
    CHECK(std::abs(before[i] - after[i] - g[i] * 0.5 / (norm + 1e-6)) <= 1e-14);
  CHECK(problem.p.grad().to_vector<double>() == g);  // the scale is folded in, not written back

  problem.set_gradient(1);
  const std::vector<double> there = problem.p.to_vector<double>();
  sgd.step({.clip_norm = 100, .factor = 0.25});  // below the limit nothing is scaled
  const std::vector<double> quarter = problem.p.to_vector<double>();
  for (std::size_t i = 0; i < g.size(); ++i)
    CHECK(std::abs(there[i] - quarter[i] - 0.25 * g[i]) <= 1e-14);
}

TEST_CASE("groups have rates of their own, and decay is for matrices") {
  Tensor w = values({2, 3}).clone().requires_grad_(), b = values({3}).clone().requires_grad_();
  const std::vector<optim::Group> groups = optim::decay_matrices_only({{"w", w}, {"b", b}}, 0.1);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].parameters[0].name == "w");
  CHECK(groups[0].weight_decay == 0.1);
  CHECK(groups[1].parameters[0].name == "b");
  CHECK(groups[1].weight_decay == 0);

  optim::SGD sgd({optim::Group{{{"w", w}}, 0.5, -1}, optim::Group{{{"b", b}}, -1, -1}},
                 {.lr = 0.25});
  const double w0 = w.to_vector<double>()[0], b0 = b.to_vector<double>()[0];
  w.set_grad(ones_like(w)), b.set_grad(ones_like(b));
  sgd.step();
  CHECK(w.to_vector<double>()[0] == w0 - 0.5);
  CHECK(b.to_vector<double>()[0] == b0 - 0.25);
}

TEST_CASE("an optimiser's state goes on where it stopped") {
  Problem whole, stopped;
  optim::Adam first(whole.parameters()), second(stopped.parameters());
  const auto steps = [](optim::Optimizer& optimizer, Problem& problem, int from, int to) {
    for (int t = from; t < to; ++t) problem.set_gradient(t), optimizer.step();
  };
  steps(first, whole, 0, 6);
  steps(second, stopped, 0, 3);
  std::map<std::string, Tensor> saved;
  for (const auto& [name, tensor] : second.state_dict()) saved[name] = tensor.clone();
  optim::Adam third(stopped.parameters());
  third.load_state_dict(saved);
  CHECK(third.steps() == 3);
  steps(third, stopped, 3, 6);
  CHECK(stopped.p.to_vector<double>() == whole.p.to_vector<double>());

  saved.erase("exp_avg.p");
  CHECK_THROWS_AS(third.load_state_dict(saved), ShapeError);
}

/// The message of the Error that f throws.
template <class F>
std::string message(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("optimisers refuse what cannot train") {
  Problem problem;
  const auto says = [](const std::string& text, const char* words) {
    return text.find(words) != std::string::npos;
  };
  CHECK(
      says(message([&] { optim::SGD(problem.parameters(), {.lr = -1}); }), "learning rate of -1"));
  CHECK(says(message([&] { optim::SGD(problem.parameters(), {.momentum = 1}); }), "momentum 1"));
  CHECK(says(message([&] { optim::SGD(problem.parameters(), {.nesterov = true}); }), "Nesterov"));
  CHECK(says(message([&] {
               optim::Adam(problem.parameters(), {.betas = {1, 0.999}});
             }),
             "betas 1"));
  CHECK(says(message([&] { optim::Adam(problem.parameters(), {.eps = 0}); }), "eps 0"));
  CHECK(says(message([&] { optim::SGD(std::vector<nn::NamedTensor>{}); }), "no parameters"));
  CHECK(says(message([&] {
               optim::SGD(std::vector<nn::NamedTensor>{{"x", values({2})}});
             }),
             "x is no parameter"));
  CHECK(says(message([&] {
               optim::SGD(std::vector<nn::NamedTensor>{{"p", problem.p}, {"q", problem.p}});
             }),
             "twice"));
  optim::SGD sgd(problem.parameters());
  CHECK(says(message([&] { sgd.step(); }), "no parameter has a gradient"));
}

TEST_CASE("an optimiser made before to(dtype) refuses to step") {
  nn::Linear layer(2, 3);
  optim::SGD sgd(layer.parameters());
  layer.to(Dtype::f64);
  sum(layer(values({5, 2}))).backward();
  CHECK_THROWS_AS(sgd.step(), GraphError);
  CHECK(message([&] { sgd.step(); }).find("to(dtype)") != std::string::npos);
}

TEST_CASE("a frozen parameter stays as it is") {
  Problem problem;
  Tensor other = values({2}).clone().requires_grad_();
  optim::SGD sgd(std::vector<nn::NamedTensor>{{"p", problem.p}, {"other", other}}, {.lr = 1});
  problem.set_gradient(1), other.set_grad(ones_like(other));
  problem.p.requires_grad_(false);
  const std::vector<double> before = problem.p.to_vector<double>();
  sgd.step();
  CHECK(problem.p.to_vector<double>() == before);
}

}  // namespace
}  // namespace gradus::testing
