// Optimizers against their formulas, written out in plain doubles.
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <random>

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/observer.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/ops.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/registry.h"
#include "gradus/tests/support/thrown.h"
#include "gradus/train/ema.h"
#include "gradus/train/groups.h"
#include "gradus/train/muon.h"
#include "gradus/train/optim.h"
#include "gradus/train/schedule.h"

namespace gradus::testing {
namespace {

constexpr std::int64_t kCount = 7;

/// One parameter of seven values, with a gradient that changes from step to step.
struct Problem {
  Tensor p = values({kCount}).clone().requires_grad_();
  std::vector<nn::NamedTensor> parameters() const { return {{"p", p}}; }
  void set_gradient(int step) { p.set_grad(values({kCount}, step + 1)); }
};

TEST_CASE("step returns the norm and clips gradients to it") {
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

TEST_CASE("optimizers refuse arguments that cannot train") {
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

TEST_CASE("an optimizer made before to(dtype) refuses to step") {
  nn::Linear layer(2, 3);
  optim::SGD sgd(layer.parameters());
  layer.to(Dtype::f64);
  sum(layer(values({5, 2}))).backward();
  CHECK_THROWS_AS(sgd.step(), GraphError);
  CHECK(message([&] { sgd.step(); }).find("to(dtype)") != std::string::npos);
}

TEST_CASE("a frozen parameter does not change") {
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

TEST_CASE("every optimizer learns a small problem and resumes bit for bit from its state") {
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

TEST_CASE("a step within backward equals the step after it and leaves no gradient") {
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

TEST_CASE("an average of the weights resumes from its state, and its scope restores the weights") {
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

  CHECK_REFUSES(ValueError, optim::EMA({{"p", p}}, 1), "EMA", "1", "0");
  CHECK_THROWS_AS(optim::EMA({}, 0.5), ValueError);
  CHECK_REFUSES(ShapeError, again.load_state_dict({{"p", ones({4}, Dtype::f64)}}), "EMA state",
                "[5]", "[4]");
  CHECK_REFUSES(ShapeError, again.load_state_dict({{"p", p}}), "[]", "i64");
  nn::StateDict more = again.state_dict();
  more["q"] = p;
  CHECK_REFUSES(ShapeError, again.load_state_dict(more), "EMA state");
}

TEST_CASE("Lion and Muon refuse wrong arguments and report them") {
  Net net;
  const std::vector<nn::NamedTensor> p = net.parameters();
  CHECK_REFUSES(ValueError, optim::Lion(p, {.betas = {0.9, 1}}), "Lion", "0.9", "1");
  CHECK_REFUSES(ShapeError, optim::Muon({p}, {}), "Muon", "[8]");
  const optim::MuonGroups groups = optim::muon_groups(p);
  REQUIRE(groups.matrices.parameters.size() == 1);
  CHECK(groups.matrices.parameters[0].name == "encoder.weight");
  CHECK(groups.others.parameters.size() == 3);
  CHECK_REFUSES(ValueError, optim::Muon(groups.matrices, groups.others, {.momentum = 1}), "Muon",
                "1", "0");
  CHECK_REFUSES(ValueError, optim::clip_grad_value(p, 0), "clip_grad_value", "0");
}

}  // namespace
}  // namespace gradus::testing

namespace gradus::testing::steps {
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

TEST_CASE("the gradient norm covers all elements for any parameter size") {
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

TEST_CASE("a parameter that never had a gradient stays, next to one that has") {
  const nn::NamedTensor with = trained("with", {2}),
                        without = {"without", nn::parameter(numbers({2}))};
  optim::SGD optimizer({with, without}, {.lr = 1});
  optimizer.report_unreached(false);
  optimizer.step();
  CHECK(without.tensor.detach().to_vector<double>() == numbers({2}).to_vector<double>());
  CHECK(with.tensor.detach().to_vector<double>() != numbers({2}).to_vector<double>());
}

TEST_CASE("moments follow their formulas and have documented names") {
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

TEST_CASE("Muon updates each matrix as one piece, however large") {
  const Shape wide{8, 8200};  // more than one piece of other rules
  const nn::NamedTensor w = trained("w", wide);
  const Tensor before = w.tensor.detach().clone();
  const double norm = std::sqrt(sum(w.tensor.grad() * w.tensor.grad()).item());
  optim::Muon muon({{w}}, {}, {.lr = 1, .momentum = 0, .nesterov = false});
  CHECK(muon.step() == Approx(norm).epsilon(1e-12));
  const Tensor expected = before - optim::newton_schulz(w.tensor.grad());
  CHECK(max(abs(w.tensor.detach() - expected)).item() <= 1e-12);
}

TEST_CASE("observers see each parameter before and after its update, and each step") {
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

TEST_CASE("an average begins as the weights and resumes from its state") {
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

}  // namespace gradus::testing::steps

namespace gradus::testing::pieces {
namespace {

using Made = std::unique_ptr<optim::Optimizer>;
using Parameters = std::vector<nn::NamedTensor>;

/// Small whole numbers: sums of their squares are exact, so that a norm has the same bits however
/// its parameters are cut.
std::vector<float> whole_numbers(std::size_t count, unsigned step) {
  std::mt19937 random(step);
  std::vector<float> out(count);
  for (float& each : out) each = static_cast<float>(random() % 15) - 7;
  return out;
}

const std::vector<std::function<Made(const Parameters&)>> kElementwise = {
    [](auto& p) {
      return std::make_unique<optim::SGD>(p, optim::SGDOptions{0.1, 0, 0.01});
    },
    [](auto& p) {
      return std::make_unique<optim::SGD>(p, optim::SGDOptions{0.1, 0.9, 0.01});
    },
    [](auto& p) {
      return std::make_unique<optim::SGD>(p, optim::SGDOptions{0.1, 0.9, 0, true});
    },
    [](auto& p) { return std::make_unique<optim::Adam>(p); },
    [](auto& p) { return std::make_unique<optim::AdamW>(p); },
    [](auto& p) { return std::make_unique<optim::Lion>(p, optim::LionOptions{0.1}); }};

/// The numbers after three clipped steps, cut into tensors of these sizes.
std::vector<float> after_steps(const std::function<Made(const Parameters&)>& make,
                               const std::vector<std::size_t>& sizes, bool in_backward) {
  Parameters parameters;
  for (const std::size_t size : sizes)
    parameters.push_back({std::to_string(parameters.size()),
                          zeros({static_cast<std::int64_t>(size)}).requires_grad_()});
  const Made optimizer = make(parameters);
  std::size_t all = 0;
  for (const std::size_t size : sizes) all += size;
  for (unsigned step = 0; step < 3; ++step) {
    const std::vector<float> numbers = whole_numbers(all, step);
    auto at = numbers.begin();
    if (in_backward) optimizer->step_in_backward(0.5);
    for (nn::NamedTensor& each : parameters) {
      const auto end = at + each.tensor.numel();
      const Tensor gradient = tensor(std::vector<float>(at, end), each.tensor.shape());
      in_backward ? each.tensor.backward(gradient) : each.tensor.set_grad(gradient);
      at = end;
    }
    if (!in_backward) optimizer->step({.clip_norm = 10, .factor = 0.5});
  }
  std::vector<float> out;
  for (const nn::NamedTensor& each : parameters) {
    const std::vector<float> more = each.tensor.to_vector<float>();
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

TEST_CASE("updating a large parameter equals updating its parts") {
  constexpr std::size_t kPiece = 65536;  // that an optimiser works on; sizes of whole vectors
  for (std::size_t which = 0; which < kElementwise.size(); ++which) {
    CAPTURE(which);
    const auto& make = kElementwise[which];
    for (const bool in_backward : {false, true})
      CHECK(after_steps(make, {2 * kPiece + 1024}, in_backward) ==
            after_steps(make, {kPiece - 1024, 2048, kPiece}, in_backward));
  }
}

TEST_CASE("a step counts as a write, accepts any strides, and requires finite settings") {
  for (std::size_t which = 0; which < kElementwise.size(); ++which) {
    CAPTURE(which);
    const auto& make = kElementwise[which];
    Tensor p = zeros({3, 5}).requires_grad_(), q = zeros({3, 5}).requires_grad_();
    const Made one = make({{"p", p}}), other = make({{"p", q}});
    const Tensor gradient = transpose(tensor(whole_numbers(15, 1), {5, 3}), 0, 1);
    p.set_grad(gradient), q.set_grad(gradient.contiguous());
    const Tensor before = sum(square(p));  // it has saved p
    one->step(), other->step();
    CHECK(p.to_vector<float>() == q.to_vector<float>());
    CHECK_THROWS_AS(before.backward(), GraphError);
    std::map<std::string, Tensor> state = one->state_dict();
    state["more"] = zeros({1});
    CHECK_THROWS_AS(other->load_state_dict(state), ShapeError);
    for (auto& [name, tensor] : std::map<std::string, Tensor>(one->state_dict())) {
      state = one->state_dict();
      state[name] = tensor.to(Dtype::f64);
      CHECK_THROWS_AS(other->load_state_dict(state), ShapeError);
    }
    for (const double bad : {HUGE_VAL, std::nan(""), -0.5}) {
      CHECK_THROWS_AS(one->set_learning_rate(bad), ValueError);
      if (!(bad < 0)) CHECK_THROWS_AS(optim::SGD({optim::Group{{{"p", p}}, bad}}), ValueError);
      if (!(bad < 0)) CHECK_THROWS_AS(optim::SGD({optim::Group{{{"p", p}}, -1, bad}}), ValueError);
    }
  }
}

TEST_CASE("only matrices and higher ranks decay, and only matrices go to Muon") {
  Parameters all;
  for (int rank = 0; rank < 5; ++rank) {
    Shape shape;
    for (int axis = 0; axis < rank; ++axis) shape.push_back(2);
    all.push_back({std::to_string(rank), zeros(shape).requires_grad_()});
  }
  const auto names = [](const optim::Group& group) {
    std::string out;
    for (const nn::NamedTensor& each : group.parameters) out += each.name;
    return out;
  };
  const std::vector<optim::Group> decay = optim::decay_matrices_only(all, 0.1);
  CHECK(names(decay[0]) == "234");
  CHECK(names(decay[1]) == "01");
  CHECK(decay[1].weight_decay == 0);
  optim::MuonGroups muon = optim::muon_groups(all);
  CHECK(names(muon.matrices) == "2");
  CHECK(names(muon.others) == "0134");
  muon.others.lr = 0.25;
  CHECK(optim::Muon(muon.matrices, muon.others).groups()[1].lr == 0.25);

  optim::SGD sgd(optim::decay_matrices_only(all, 0.1));
  sgd.set_learning_rate(0.125);
  for (const optim::Group& group : sgd.groups()) CHECK(group.lr == 0.125);
  CHECK_THROWS_AS(sgd.set_learning_rate(-1), ValueError);
}

}  // namespace
}  // namespace gradus::testing::pieces
