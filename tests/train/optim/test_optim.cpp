#include <algorithm>
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
#include "gradus/tests/support/capture_output.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/registry.h"
#include "gradus/tests/support/thrown.h"
#include "gradus/trace/watch.h"
#include "gradus/train/optim/ema.h"
#include "gradus/train/optim/muon.h"
#include "gradus/train/optim/optim.h"
#include "gradus/train/optim/schedule.h"

namespace gradus::testing::test_optim {
namespace {

constexpr std::int64_t kCount = 7;

struct Problem {
  Tensor p = values({kCount}).clone().requires_grad_();
  std::vector<nn::NamedTensor> parameters() const { return {{"p", p}}; }
  void set_gradient(int step) { p.set_grad(values({kCount}, step + 1)); }
};

TEST_CASE("the step of an optimizer created before to(dtype) throws") {
  nn::Linear layer(2, 3);
  optim::SGD sgd(layer.parameters());
  layer.to(Dtype::f64);
  sum(layer(values({5, 2}))).backward();
  CHECK_REFUSES(GraphError, sgd.step(), "to(dtype)");
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

Tensor plain_newton_schulz(const Tensor& x) {
  Tensor y = x / sqrt(sum(square(x)));
  for (int i = 0; i < 5; ++i) {
    const Tensor gram = matmul(y, transpose(y));
    y = 3.4445 * y - 4.7750 * matmul(gram, y) + 2.0315 * matmul(gram, matmul(gram, y));
  }
  return y;
}

TEST_CASE("Newton-Schulz makes tall and wide matrices nearly orthogonal") {
  for (const Shape& shape : {Shape{3, 7}, Shape{5, 5}, Shape{5, 7}, Shape{1, 4}}) {
    const Tensor x = values(shape), y = optim::newton_schulz(x);
    CHECK(max(abs(y - plain_newton_schulz(x))).item() < 1e-12);
    const Tensor turned = transpose(optim::newton_schulz(transpose(x)));
    CHECK(max(abs(y - turned)).item() < 1e-12);
    CHECK(max(abs(matmul(y, transpose(y)) - eye(shape[0]).to(Dtype::f64))).item() < 0.6);
  }
  // A diagonal matrix must stay diagonal, with entries from 0.68 to 1.14.
  const Tensor d = tensor(std::vector<double>{3, 0, 0, 0, -1, 0, 0, 0, 0.5}, {3, 3});
  const std::vector<double> y = optim::newton_schulz(d).to_vector<double>();
  for (std::size_t i = 0; i < 9; ++i)
    CHECK((i % 4 == 0 ? std::abs(std::abs(y[i]) - 0.91) < 0.24 : y[i] == 0));
  CHECK(y[4] < 0);
  CHECK(optim::newton_schulz(zeros({2, 3})).to_vector<float>() == std::vector<float>(6));
}

/// Normalizes each row (each column of a tall matrix), subtracts its components along earlier rows,
/// and renormalizes it.
Tensor plain_mud(const Tensor& x) {
  const auto n = static_cast<std::size_t>(std::min(x.size(0), x.size(1)));
  const bool tall = x.size(0) > x.size(1);
  std::vector<Tensor> before, out;
  for (std::size_t i = 0; i < n; ++i) {
    const Tensor row = select(x, tall ? 1 : 0, static_cast<std::int64_t>(i));
    before.push_back(row / norm(row));
    Tensor rest = before[i];
    for (std::size_t j = 0; j < i; ++j) rest = rest - sum(before[i] * before[j]) * out[j];
    out.push_back(rest);
  }
  for (Tensor& each : out) each = each / norm(each);
  return stack(out, tall ? 1 : 0);
}

TEST_CASE("mud follows its formula row by row, for tall and wide matrices") {
  seed(5);
  for (const Shape& shape : {Shape{3, 7}, Shape{7, 3}, Shape{5, 5}, Shape{1, 4}, Shape{4, 1},
                             Shape{37, 61}, Shape{61, 37}}) {
    INFO(shape);
    const Tensor x = randn(shape, Dtype::f64), y = optim::mud(x), right = plain_mud(x);
    // The bound is 25 times 37 rounding errors of 1e-16. Random rows are nearly orthogonal, so
    // mud() hardly magnifies the errors.
    constexpr double kError = 1e-13;
    CHECK(max(abs(y - right)).item() < kError);
    CHECK(max(abs(optim::mud(transpose(transpose(x).contiguous())) - right)).item() < kError);
    CHECK(optim::mud(x * 1e3).dtype() == Dtype::f64);
    // f32 rounds 2^29 times more coarsely.
    const Tensor narrow = optim::mud(x.to(Dtype::f32)).to(Dtype::f64);
    CHECK(max(abs(narrow - right)).item() < kError * std::pow(2, 29));
  }
  const Tensor turned = tensor(std::vector<double>{0.6, 0.8, -0.8, 0.6}, {2, 2});
  CHECK(max(abs(optim::mud(3 * turned) - turned)).item() < 1e-15);  // orthogonal
  CHECK(optim::mud(zeros({2, 3})).to_vector<float>() == std::vector<float>(6));
}

struct Net : nn::Layer<Net> {
  nn::Linear encoder{3, 8}, head{8, 2};
  nn::Members members() override { return {{"encoder", encoder}, {"head", head}}; }
  Tensor forward(const Tensor& x) const { return head(tanh(encoder(x))); }  // [N, 3] → [N, 2]
};

using Made = std::unique_ptr<optim::Optimizer>;
std::vector<std::pair<std::string, std::function<Made(Net&)>>> every_optimiser() {
  return {
      {"SGD",
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
      {"Muon",
       [](Net& n) -> Made {
         const optim::MuonGroups g = optim::muon_groups(n.parameters());
         return std::make_unique<optim::Muon>(g.matrices, g.others,
                                              optim::MuonOptions{.lr = 0.02, .adam = {.lr = 0.02}});
       }},
      {"Muon with mud", [](Net& n) -> Made {
         const optim::MuonGroups g = optim::muon_groups(n.parameters());
         return std::make_unique<optim::Muon>(
             g.matrices, g.others,
             optim::MuonOptions{
                 .lr = 0.02, .adam = {.lr = 0.02}, .orthogonalizer = optim::Orthogonalizer::mud});
       }}};
}

std::vector<float> weights_of(const Net& net) {
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
    Net continuous, stopped;
    for (std::size_t i = 0; i < 4; ++i) {
      const NoGrad off;
      stopped.parameters()[i].tensor.copy_(continuous.parameters()[i].tensor);
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
    const double at_first = mse_loss(continuous(x), y).item();
    const Made first = make(continuous), second = make(stopped);
    CHECK(train(continuous, *first, 200) < 0.2 * at_first);
    train(stopped, *second, 120);
    std::map<std::string, Tensor> saved;
    for (const auto& [key, tensor] : second->state_dict()) saved[key] = tensor.clone();
    const Made third = make(stopped);
    third->load_state_dict(saved);
    train(stopped, *third, 80);
    CHECK(weights_of(stopped) == weights_of(continuous));
  }
}

TEST_CASE("a step within backward equals a step after backward and leaves no gradient") {
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
        loss.backward();  // head.weight is used twice, so its step must wait for two gradients
        for (const nn::NamedTensor& each : other.parameters())
          CHECK_FALSE(each.tensor.grad().defined());
      }
      CHECK(within->steps() == 5);
      CHECK(weights_of(one) == weights_of(other));
      mse_loss(other(x), y).backward();  // this pass keeps its gradients
      CHECK(other.encoder.weight.grad().defined());
    }
    other.zero_grad();
    const std::vector<float> before = weights_of(other);
    mse_loss(other(x), y).backward();
    CHECK(weights_of(other) == before);
  }
}

using Doubles = std::vector<double>;

Tensor numbers(const Shape& shape, double first = 1) {
  std::vector<double> all(static_cast<std::size_t>(numel(shape)));
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = first + 0.25 * static_cast<double>(i * i % 17) - 0.125 * static_cast<double>(i % 5);
  return tensor(all, shape);
}

nn::NamedTensor trained(const std::string& name, const Shape& shape, double gradient_first = -1) {
  nn::NamedTensor out{name, nn::parameter(numbers(shape))};
  out.tensor.set_grad(numbers(shape, gradient_first));
  return out;
}

struct UpdateRecorder final : Observer {
  std::string text;
  void on_update_begin(const Update& u) override { add("begin", u); }
  void on_update_end(const Update& u) override { add("end", u); }
  void on_step_end(std::int64_t step) override { text += str_cat("step ", step, "\n"); }
  void add(const char* what, const Update& u) {
    text += str_cat(what, " ", u.optimizer, " ", u.name, " ", u.rate, " ",
                    u.parameter.to_vector<double>()[0], "\n");
  }
};

TEST_CASE("step returns the norm of gradients of any size, and clipping does not change them") {
  for (const std::int64_t n : {1, 1023, 1024, 1025, 1500, 2048, 2500, 65536, 65537, 66600}) {
    CAPTURE(n);
    const std::vector<nn::NamedTensor> all = {trained("a", {n}), trained("b", {3}, 2)};
    double squares = 0;
    for (const nn::NamedTensor& each : all)
      for (const double g : each.tensor.grad().to_vector<double>()) squares += g * g;
    optim::SGD optimizer(all);
    CHECK(optimizer.step({.clip_norm = 0.5}) == Approx(std::sqrt(squares)).epsilon(1e-12));
    CHECK(all[0].tensor.grad().to_vector<double>() == numbers({n}, -1).to_vector<double>());
  }
}

TEST_CASE("a parameter without a gradient does not change, next to one with a gradient") {
  const nn::NamedTensor with = trained("with", {2}),
                        without = {"without", nn::parameter(numbers({2}))};
  optim::SGD optimizer({with, without}, {.lr = 1});
  optimizer.warn_params_without_grad(false);
  optimizer.step();
  CHECK(without.tensor.detach().to_vector<double>() == numbers({2}).to_vector<double>());
  CHECK(with.tensor.detach().to_vector<double>() != numbers({2}).to_vector<double>());
}

TEST_CASE("the state of an optimizer is named by PyTorch's names and those of the parameters") {
  const nn::NamedTensor p = trained("p", {2, 3});
  const auto has = [](const optim::Optimizer& optimizer, const char* name) {
    return optimizer.state_dict().count(name) == 1;
  };
  CHECK((has(optim::Adam({p}), "exp_avg.p") && has(optim::Adam({p}), "exp_avg_sq.p")));
  CHECK(has(optim::Lion({p}), "exp_avg.p"));
  CHECK(has(optim::Muon({{p}}, {}), "momentum_buffer.p"));
}

TEST_CASE("Muon updates a matrix of any size as one piece") {
  const Shape wide{8, 8200};  // other optimizers split this parameter into pieces
  const nn::NamedTensor w = trained("w", wide);
  const Tensor before = w.tensor.detach().clone();
  const double norm = std::sqrt(sum(w.tensor.grad() * w.tensor.grad()).item());
  optim::Muon muon({{w}}, {}, {.lr = 1, .momentum = 0, .nesterov = false});
  CHECK(muon.step() == Approx(norm).epsilon(1e-12));
  const Tensor expected = before - optim::newton_schulz(w.tensor.grad());
  CHECK(max(abs(w.tensor.detach() - expected)).item() <= 1e-12);
}

TEST_CASE("Muon orthogonalizes the matrices of a stack separately") {
  for (const bool stacked : {true, false}) {
    const nn::NamedTensor w = trained(stacked ? "a.qkv_proj.weight" : "a.weight", {7, 3});
    const Tensor before = w.tensor.detach().clone(), g = w.tensor.grad();
    optim::Muon muon({{w}}, {}, {.lr = 1, .momentum = 0, .nesterov = false});
    muon.step();
    const auto one = [&](std::int64_t begin, std::int64_t end) {
      return optim::newton_schulz(slice(g, 0, begin, end));
    };
    const Tensor direction = stacked ? cat({one(0, 3), one(3, 6), one(6, 7)})
                                     : optim::newton_schulz(g) * std::sqrt(7.0 / 3);
    CHECK(max(abs(w.tensor.detach() - (before - direction))).item() <= 1e-12);
  }
}

TEST_CASE("observers see each parameter before and after its update, and each step") {
  const nn::NamedTensor a = trained("a", {1}), b = trained("b", {1});
  optim::SGD optimizer({{{a}}, {{b}, 0.25}}, {.lr = 0.5});
  UpdateRecorder recorder;
  const ObserverScope scope(recorder);
  optimizer.step({.factor = 0.5});
  CHECK(recorder.text ==
        "begin SGD a 0.25 1\nbegin SGD b 0.125 1\nend SGD a 0.25 1.25\nend SGD b 0.125 1.125\n"
        "step 1\n");
}

TEST_CASE("an average starts at the weights, resumes, and its scope restores the weights") {
  Tensor w = nn::parameter(tensor(Doubles{1, 2}));
  optim::EMA ema({{"w", w}}, 0.75), again({{"w", w}}, 0.75);
  {
    const optim::EMA::Scope none(ema);
    CHECK(w.detach().to_vector<double>() == Doubles{1, 2});
  }
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
    const auto now = [&] { return w.detach().to_vector<double>(); };
    {
      const optim::EMA::Scope averaged(*each);
      CHECK(now() == Doubles{2, 4});
    }
    CHECK(now() == Doubles{5, 10});
  }
}

TEST_CASE("an average of strided weights equals that of contiguous ones") {
  const Tensor all = reshape(arange(0.0, 210.0, 1.0, Dtype::f64), {2, 3, 5, 7});
  for (const Tensor& strided : {transpose(all.clone(), 0, 3), slice(all.clone(), 3, 1, 7, 2),
                                slice(transpose(all.clone(), 1, 2), 1, 0, 5, 3)}) {
    Tensor w = strided, plain = w.contiguous().clone();
    REQUIRE_FALSE(w.is_contiguous());
    optim::EMA ema({{"w", w}}, 0.75), expected({{"w", plain}}, 0.75);
    const auto average = [](const optim::EMA& of) {
      return of.state_dict().at("w").to_vector<double>();
    };
    for (int k = 0; k < 3; ++k) {
      ema.update();
      expected.update();
      CHECK(average(ema) == average(expected));
      w.copy_(square(w) - 3.0);
      plain.copy_(square(plain) - 3.0);
    }
    {
      const optim::EMA::Scope averaged(ema);
      CHECK(w.to_vector<double>() == average(expected));
    }
    CHECK(w.to_vector<double>() == plain.to_vector<double>());
  }
}

using Parameters = std::vector<nn::NamedTensor>;

/// Returns small integers. Sums of their squares are exact, so a norm does not depend on the split
/// of parameters.
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
  constexpr std::size_t kPiece = 65536;
  for (std::size_t which = 0; which < kElementwise.size(); ++which) {
    CAPTURE(which);
    const auto& make = kElementwise[which];
    for (const bool in_backward : {false, true})
      CHECK(after_steps(make, {2 * kPiece + 1024}, in_backward) ==
            after_steps(make, {kPiece - 1024, 2048, kPiece}, in_backward));
  }
}

TEST_CASE("a step counts as a write, accepts any strides, and rejects states that differ") {
  for (std::size_t which = 0; which < kElementwise.size(); ++which) {
    CAPTURE(which);
    const auto& make = kElementwise[which];
    Tensor p = zeros({3, 5}).requires_grad_(), q = zeros({3, 5}).requires_grad_();
    const Made one = make({{"p", p}}), other = make({{"p", q}});
    const Tensor gradient = transpose(tensor(whole_numbers(15, 1), {5, 3}), 0, 1);
    p.set_grad(gradient), q.set_grad(gradient.contiguous());
    const Tensor before = sum(square(p));  // square saves p
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
  }
}

TEST_CASE("loading a state may exchange the tensors of the optimizer itself") {
  for (std::size_t which = 0; which < kElementwise.size(); ++which) {
    CAPTURE(which);
    Tensor p = zeros({3, 5}).requires_grad_(), q = zeros({3, 5}).requires_grad_();
    const Made one = kElementwise[which]({{"of p", p}, {"of q", q}});
    p.set_grad(tensor(whole_numbers(15, 1), {3, 5})), q.set_grad(ones({3, 5}));
    one->step();
    nn::StateDict exchanged, expected;
    for (const auto& [name, tensor] : one->state_dict()) {
      std::string other = name;
      if (name.ends_with("of p")) other.back() = 'q';
      if (name.ends_with("of q")) other.back() = 'p';
      exchanged[other] = tensor;
      expected[other] = tensor.clone();
    }
    one->load_state_dict(exchanged);
    for (const auto& [name, tensor] : one->state_dict())
      if (tensor.dtype() == Dtype::f32)
        CHECK(tensor.to_vector<float>() == expected.at(name).to_vector<float>());
  }
}

TEST_CASE("only matrices and higher ranks decay, and only matrices are updated by Muon") {
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
  const std::vector<optim::Group> decay = optim::no_decay_on_1d(all, 0.1);
  CHECK(names(decay[0]) == "234");
  CHECK(names(decay[1]) == "01");
  CHECK(decay[1].weight_decay == 0);
  optim::MuonGroups muon = optim::muon_groups(all);
  CHECK(names(muon.matrices) == "2");
  CHECK(names(muon.others) == "0134");
  muon.others.lr = 0.25;
  CHECK(optim::Muon(muon.matrices, muon.others).groups()[1].lr == 0.25);

  optim::SGD sgd(optim::no_decay_on_1d(all, 0.1));
  sgd.set_learning_rate(0.125);
  for (const optim::Group& group : sgd.groups()) CHECK(group.lr == 0.125);
}

struct Three {
  Tensor used = ones({2}).requires_grad_(), lost = ones({3}).requires_grad_(),
         frozen = ones({4}).requires_grad_().requires_grad_(false);
  std::vector<nn::NamedTensor> all() const {
    return {{"used", used}, {"lost", lost}, {"frozen", frozen}};
  }
};

TEST_CASE("only the first step reports the parameters without a gradient") {
  Three p;
  optim::SGD sgd(p.all());
  const auto step = [&] {
    sum(square(p.used)).backward();
    sgd.step();
  };
  sgd.zero_grad();
  sum(square(p.used)).backward();
  CHECK(sgd.params_without_grad() == std::vector<std::string>{"lost"});
  const std::string output = capture_output(step);
  CHECK(has(output, "did not reach 1 of 3 parameters: lost [3]. Call why(loss, model)"));
  CHECK(std::count(output.begin(), output.end(), '\n') == 1);
  CHECK(capture_output(step) == "");
  sum(square(p.lost)).backward();
  CHECK(sgd.params_without_grad().empty());
}

TEST_CASE("nothing is reported if all are reached or warn_params_without_grad is off") {
  Three p;
  optim::SGD good(p.all()), quiet(p.all());
  sum(square(p.used)).backward();
  quiet.warn_params_without_grad(false);
  CHECK(capture_output([&] { quiet.step(); }) == "");
  sum(square(p.lost)).backward();
  CHECK(capture_output([&] { good.step(); }) == "");  // frozen parameters cause no warning
}

TEST_CASE("the report names five parameters and counts the rest") {
  const auto report_of = [](int count) {
    std::vector<nn::NamedTensor> many;
    for (int i = 0; i < count; ++i)
      many.push_back({"p" + std::to_string(i), ones({1}).requires_grad_()});
    optim::SGD sgd(many);
    sum(many[0].tensor).backward();
    return capture_output([&] { sgd.step(); });
  };
  const std::string five = "parameters: p1 [1], p2 [1], p3 [1], p4 [1], p5 [1]";
  CHECK(has(report_of(6), "5 of 6 " + five + ". Call why"));
  CHECK(has(report_of(9), "8 of 9 " + five + " and 3 more."));
}

TEST_CASE("with a trace::Watch, the report names the op that ended the path to a parameter") {
  Three p;
  optim::SGD sgd(p.all());
  const trace::Watch watch;
  const Tensor twice = (p.lost * 2.0).detach();
  (sum(square(p.used)) + sum(exp(twice))).backward();
  CHECK(has(capture_output([&] { sgd.step(); }), "lost [3] (it was detached before exp)."));
}

TEST_CASE("only_finite skips a step whose norm is not finite") {
  Three p;
  optim::AdamW adamw(p.all());
  adamw.warn_params_without_grad(false);
  p.used.set_grad(tensor({1, INFINITY}));
  CHECK(std::isinf(adamw.step({.only_finite = true})));
  CHECK(adamw.steps() == 0);
  CHECK(p.used.to_vector<float>() == std::vector<float>{1, 1});
  CHECK(adamw.state_dict().at("exp_avg.used").to_vector<float>() == std::vector<float>{0, 0});
  p.used.set_grad(tensor({1, 1}));
  CHECK(adamw.step({.only_finite = true}) > 1.41);
  CHECK(adamw.steps() == 1);
}

}  // namespace
}  // namespace gradus::testing::test_optim
