// What optimisers take, tell and keep, at the borders: rates of 0, lengths about a chunk, states
// by their names, events.
#include <cmath>

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/observer.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/train/ema.h"
#include "gradus/train/muon.h"
#include "gradus/train/schedule.h"

namespace gradus::testing {
namespace {

using Doubles = std::vector<double>;

Tensor numbers(const Shape& shape, double first = 1) {
  std::vector<double> all(static_cast<std::size_t>(numel(shape)));
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = first + 0.25 * static_cast<double>(i * i % 17) - 0.125 * static_cast<double>(i % 5);
  return tensor(all, shape);
}

/// A leaf with a gradient.
nn::NamedTensor trained(const std::string& name, const Shape& shape, double gradient_first = -1) {
  nn::NamedTensor out{name, nn::parameter(numbers(shape))};
  out.tensor.set_grad(numbers(shape, gradient_first));
  return out;
}

/// Each event as text.
struct Told final : Observer {
  std::string text;
  void update_begin(const Update& u) override { add("begin", u); }
  void update_end(const Update& u) override { add("end", u); }
  void step_end(std::int64_t step) override { text += str_cat("step ", step, "\n"); }
  void add(const char* what, const Update& u) {
    text += str_cat(what, " ", u.optimizer, " ", u.name, " ", u.rate, " ",
                    u.parameter.to_vector<double>()[0], "\n");
  }
};

}  // namespace

TEST_CASE("the norm of gradients is that of all numbers, however many a parameter has") {
  for (const std::int64_t n : {1, 1023, 1024, 1025, 1500, 2048, 2500, 65536, 65537, 66600}) {
    CAPTURE(n);
    const std::vector<nn::NamedTensor> all = {trained("a", {n}), trained("b", {3}, 2)};
    double squares = 0;
    for (const nn::NamedTensor& each : all)
      for (const double g : each.tensor.grad().to_vector<double>()) squares += g * g;
    optim::SGD optimizer(all);
    CHECK(optimizer.step() == Approx(std::sqrt(squares)).epsilon(1e-12));
  }
}

TEST_CASE("rates and decays of 0 are a group's own, as is a decay below 1") {
  const nn::NamedTensor still = trained("still", {2}), plain = trained("plain", {2}),
                        decays = trained("decays", {2}), given = trained("given", {2});
  const Doubles before = still.tensor.detach().to_vector<double>(),
                g = still.tensor.grad().to_vector<double>();
  optim::SGD optimizer({{{still}, 0}, {{plain}, -1, 0}, {{decays}, -1, 0.5}, {{given}}},
                       {.lr = 0.5, .weight_decay = 0.25});
  optimizer.step();
  const auto is = [&](const nn::NamedTensor& x, double lr, double decay) {
    const Doubles now = x.tensor.detach().to_vector<double>();
    for (std::size_t i = 0; i < 2; ++i)
      CHECK(now[i] == before[i] - lr * (g[i] + decay * before[i]));
  };
  is(still, 0, 0);
  is(plain, 0.5, 0);
  is(decays, 0.5, 0.5);
  is(given, 0.5, 0.25);
}

TEST_CASE("what is undefined, or computed, is no parameter") {
  const Tensor leaf = nn::parameter(ones({2}));
  CHECK_THROWS_AS(optim::SGD({{"none", Tensor()}}), GraphError);
  CHECK_THROWS_AS(optim::SGD({{"computed", leaf * 2}}), GraphError);
}

TEST_CASE("a parameter that never had a gradient stays, beside one that has") {
  const nn::NamedTensor with = trained("with", {2}),
                        without = {"without", nn::parameter(numbers({2}))};
  optim::SGD optimizer({with, without}, {.lr = 1});
  optimizer.report_unreached(false);
  optimizer.step();
  CHECK(without.tensor.detach().to_vector<double>() == numbers({2}).to_vector<double>());
  CHECK(with.tensor.detach().to_vector<double>() != numbers({2}).to_vector<double>());
}

TEST_CASE("moments have the names that the formulas give them") {
  const nn::NamedTensor p = trained("p", {3});
  const Doubles g = p.tensor.grad().to_vector<double>();
  optim::Adam adam({p}, {.betas = {0.75, 0.5}});
  optim::Lion lion({p}, {.betas = {0.75, 0.5}});
  adam.step();
  const nn::StateDict state = adam.state_dict();
  lion.step();
  lion.step();
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(state.at("exp_avg.p").to_vector<double>()[i] == 0.25 * g[i]);
    CHECK(state.at("exp_avg_sq.p").to_vector<double>()[i] == 0.5 * g[i] * g[i]);
    CHECK(lion.state_dict().at("exp_avg.p").to_vector<double>()[i] == (0.25 + 0.5) * g[i]);
  }
}

TEST_CASE("Muon takes matrices whole, however many numbers they have") {
  const Shape wide{8, 8200};  // more than one piece of other rules
  const nn::NamedTensor w = trained("w", wide);
  const Tensor before = w.tensor.detach().clone();
  const double norm = std::sqrt(sum(w.tensor.grad() * w.tensor.grad()).item());
  optim::Muon muon({{w}}, {}, {.lr = 1, .momentum = 0, .nesterov = false});
  CHECK(muon.step() == Approx(norm).epsilon(1e-12));
  const Tensor expected = before - optim::newton_schulz(w.tensor.grad());
  CHECK(max(abs(w.tensor.detach() - expected)).item() <= 1e-12);
}

TEST_CASE("observers hear of each parameter before and after its update, and of each step") {
  const nn::NamedTensor a = trained("a", {1}), b = trained("b", {1});
  optim::SGD optimizer({{{a}}, {{b}, 0.25}}, {.lr = 0.5});
  Told told;
  const ObserverScope scope(told);
  optimizer.step({.factor = 0.5});
  // the parameter is 1, its gradient −1
  CHECK(told.text ==
        "begin SGD a 0.25 1\nbegin SGD b 0.125 1\nend SGD a 0.25 1.25\nend SGD b 0.125 1.125\n"
        "step 1\n");
}

TEST_CASE("an average begins as the weights and goes on from its state") {
  Tensor w = nn::parameter(tensor(Doubles{1, 2}));
  optim::EMA ema({{"w", w}}, 0.75), again({{"w", w}}, 0.75);
  const auto average = [](const optim::EMA& of) {
    return of.state_dict().at("w").to_vector<double>();
  };
  ema.update();
  CHECK(average(ema) == Doubles{1, 2});
  {
    const NoGrad off;
    w.copy_(tensor(Doubles{5, 10}));
  }
  again.load_state_dict(ema.state_dict());
  for (optim::EMA* each : {&ema, &again}) {
    each->update();
    CHECK(average(*each) == Doubles{2, 4});
  }
}

TEST_CASE("a decay of one step is a schedule") {
  const optim::Schedule schedule = optim::warmup_stable_decay(2, 1, 5, 0.25);
  const Doubles wanted = {0.5, 1, 1, 1, 1, 0.25};
  for (std::size_t i = 0; i < wanted.size(); ++i)
    CHECK(schedule(static_cast<std::int64_t>(i)) == wanted[i]);
}

TEST_CASE("AdamW has the betas and the eps that it is given") {
  const nn::NamedTensor p = trained("p", {3});
  const Doubles x = p.tensor.to_vector<double>(), g = p.tensor.grad().to_vector<double>();
  optim::AdamW adamw({p}, {.lr = 0.5, .betas = {0.75, 0.5}, .eps = 2, .weight_decay = 0.25});
  adamw.step();
  const Doubles now = p.tensor.to_vector<double>();
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(adamw.state_dict().at("exp_avg.p").to_vector<double>()[i] == 0.25 * g[i]);
    CHECK(adamw.state_dict().at("exp_avg_sq.p").to_vector<double>()[i] == 0.5 * g[i] * g[i]);
    CHECK(now[i] == Approx(x[i] - 0.5 * (0.25 * x[i] + g[i] / (std::abs(g[i]) + 2))));
  }
}

}  // namespace gradus::testing
