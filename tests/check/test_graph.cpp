#include "gradus/check/graph.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>

#include "gradus/check/raw/random.h"
#include "gradus/engine/apply.h"
#include "gradus/engine/strided.h"
#include "gradus/nn/block.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/ops/checkpoint.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_graph {

namespace op {

struct Made final : Op {
  using F = std::function<Tensor(const Tensor& a, const Tensor& b)>;
  using Df = std::function<Tensor(const Tensor& a, const Tensor& dy)>;
  Made(F forward, Df backward, const char* called)
      : f(std::move(forward)), df(std::move(backward)), name_(called) {}
  const char* name() const override { return name_; }
  Tensor forward(const Tensor& a, const Tensor& b) {
    a_ = a;
    const Tensor y = f(a.detach(), b.detach());
    return y.detach();
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {df(a_.value(), dy), {}};
  }

 private:
  F f;
  Df df;
  const char* name_;
  Saved a_;
};

}  // namespace op

namespace {

using check::Report, check::Verdict;
using testing::has, testing::message_of;

/// Multiplies the first gradient of the given op by 1.001.
class WrongBackward : public Observer {
 public:
  explicit WrongBackward(std::string name) : name_(std::move(name)) {}
  void on_backward_end(const Node& node, const Gradients& dx) override {
    if (node.name() != name_) return;
    for (const Gradient& each : dx) {
      if (!each.defined()) continue;
      const NoGrad off;
      auto& gradient = const_cast<Gradient&>(each);
      if (each.is_whole())
        gradient = Gradient(each.part() * 1.001);
      else
        Tensor(each.part()).copy_(each.part() * 1.001);
      return;
    }
  }

 private:
  std::string name_;
};

class Names : public Observer {
 public:
  void on_op_end(const Op& op, std::span<const Tensor* const>, const Tensor& y) override {
    if (y.node()) all.insert(op.name());
  }
  std::set<std::string> all;
};

nn::GPTOptions small() {
  return {
      .vocab = 11, .context = 7, .layers = 2, .block = {.width = 6, .heads = 2, .dropout = 0.2}};
}

struct Step {
  Step() : model(small()) { model.train(); }
  Tensor operator()() const { return model.loss(x, targets); }
  nn::GPT model;
  Tensor x = tensor({{1, 5, 0, 3, 10, 3, 2}, {4, 4, 7, 9, 8, 6, 1}}, Dtype::i64);
  Tensor targets = tensor({{5, 0, 3, 10, 3, 2, 8}, {4, 7, 9, 8, 6, 1, 0}}, Dtype::i64);
};

const Tensor kX = tensor({{0.75, -1.5, 2.0}, {1.25, 0.5, -3.0}}, Dtype::f64);

Tensor leaf(const Tensor& x) { return kernel::copy(x).requires_grad_(); }

Tensor twice(const Tensor& a, const Tensor& b = {}, const char* name = "twice") {
  return apply(op::Made([](const Tensor& x, const Tensor&) { return x * 2.0; },
                        [](const Tensor&, const Tensor& dy) { return dy * 2.0; }, name),
               a, b);
}

/// dx = dy (2x + error)
Tensor squared(const Tensor& a, const Tensor& error, const char* name = "squared") {
  return apply(
      op::Made([](const Tensor& x, const Tensor&) { return x * x; },
               [error](const Tensor& x, const Tensor& dy) { return dy * (2.0 * x + error); }, name),
      a, Tensor());
}

Report look(const std::function<Tensor()>& loss, check::GraphOptions options = {.seconds = 600}) {
  return check::graph(loss, options);
}

}  // namespace

TEST_CASE("graph: a correct step passes, and the report counts the distinct ops") {
  const Step step;
  const check::Report report = check::graph([&] { return step(); }, {.seconds = 600});
  INFO(report.text());
  CHECK(report);
  CHECK(report.text().find("skipped") == std::string::npos);
  CHECK(report.notes[0].find(" distinct ops (") != std::string::npos);
}

TEST_CASE("graph: state that one step leaves to the next must be detached") {
  const Tensor w = leaf(kX);
  for (const bool detached : {true, false}) {
    Tensor state = zeros_like(kX);
    const check::Report report = look([&] {
      const Tensor now = tanh(state + w);
      state = detached ? now.detach() : now;
      return sum(now);
    });
    INFO(report.text());
    CHECK(static_cast<bool>(report) == detached);
    CHECK((report.text().find("tanh") != std::string::npos) != detached);
  }
}

TEST_CASE("graph: only the op with a wrong backward is reported") {
  const Step step;
  Names names;
  {
    const ObserverScope scope(names);
    static_cast<void>(step());
  }
  REQUIRE(names.all.size() >= 6);
  for (const std::string& name : names.all) {
    CAPTURE(name);
    WrongBackward wrong(name);
    const ObserverScope scope(wrong);
    const check::Report report = check::graph([&] { return step(); }, {.seconds = 600});
    INFO(report.text());
    CHECK(report.verdict == check::Verdict::fail);
    for (const check::Finding& finding : report.findings)
      CHECK(finding.note.rfind(name + " (node ", 0) == 0);
  }
}

// Run this test manually on an idle machine, because the limit includes the training step:
// gradus_tests_check "graph: a step of the cpu preset*"
TEST_CASE("graph: a step of the cpu preset takes at most five seconds, correct or wrong", "[.]") {
  nn::GPT model(nn::gpt_preset("cpu").options);
  model.train();
  const Tensor x = randint(0, 65, {12, 64});
  const auto step = [&] { return model.loss(x, x); };
  const auto timed = [&](const std::string& what) {
    const auto begin = std::chrono::steady_clock::now();
    const check::Report report = check::graph(step, {.seconds = 5});
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    std::printf("%s: %s, %.2f s\n", what.c_str(), to_string(report.verdict), passed.count());
    INFO(what << "\n" << report.text());
    CHECK(passed.count() <= 5);
    return report;
  };
  const check::Report right = timed("right");
  INFO(right.text());
  CHECK(right);
  CHECK(right.text().find("checked one by one") != std::string::npos);
  Names names;
  {
    const ObserverScope scope(names);
    static_cast<void>(step());
  }
  for (const std::string& name : names.all) {
    WrongBackward wrong(name);
    const ObserverScope scope(wrong);
    const check::Report report = timed(name);
    INFO(report.text());
    CHECK(report.verdict == check::Verdict::fail);
    for (const check::Finding& finding : report.findings)
      CHECK(finding.note.rfind(name + " (node ", 0) == 0);
  }
}

TEST_CASE("graph: steps of random small models pass") {
  const char* many = std::getenv("GRADUS_TEST_STEPS");  // for example 1000
  const std::uint64_t steps = many == nullptr ? 24 : std::strtoull(many, nullptr, 10);
  for (std::uint64_t i = 0; i < steps; ++i) {
    CAPTURE(i);
    check::Random random(i + 1);
    const auto between = [&](std::int64_t low, std::int64_t high) {
      return low + random.below(high - low + 1);
    };
    nn::GPTOptions options{.vocab = between(3, 17), .context = between(1, 9)};
    options.layers = between(1, 2);
    options.block.heads = between(1, 3);
    options.block.width = options.block.heads * 2 * between(1, 3);
    options.block.dropout = 0.2 * static_cast<double>(between(0, 1));
    options.block.norm_kind = i % 2 == 0 ? nn::NormKind::layer : nn::NormKind::rms;
    options.block.head.position =
        std::array{nn::HeadPosition::none, nn::HeadPosition::rotary, nn::HeadPosition::alibi,
                   nn::HeadPosition::relative}[i / 2 % 4];
    options.window = between(0, 3);
    options.block.activation = i % 3 == 0 ? nn::Activation::relu : nn::Activation::gelu;
    nn::GPT model(options);
    model.train();
    const Tensor ids = randint(0, options.vocab, {between(1, 3), options.context});
    const check::Report report =
        check::graph([&] { return model.loss(ids, ids); }, {.seconds = 600, .seed = i});
    INFO(report.text());
    CHECK(report);
    CHECK(report.text().find("skipped") == std::string::npos);
  }
}

TEST_CASE("graph: check::module reports the wrong op within a layer") {
  nn::Block block({.width = 4, .heads = 2});
  WrongBackward wrong("layer_norm");
  const ObserverScope scope(wrong);
  const check::Report report = check::module(block, randn({2, 3, 4}), {.conditions = false});
  INFO(report.text());
  REQUIRE(report.verdict == check::Verdict::fail);
  const auto names_it = [](const check::InputSummary& input) {
    return input.cause.name == "WRONG OPERATION" &&
           input.cause.why.find("layer_norm") != std::string::npos;
  };
  CHECK(std::any_of(report.inputs.begin(), report.inputs.end(), names_it));
}

TEST_CASE("graph: a loss that records no op is rejected") {
  const Tensor x = ones({2});
  CHECK(message_of<GraphError>([&] {
          static_cast<void>(check::graph([&] { return sum(x); }));
        }).find("no op was recorded") != std::string::npos);
  CHECK_THROWS_AS(check::graph([] { return Tensor(); }), ValueError);
}

TEST_CASE("graph: ops of the same name, shape and dtype are checked once") {
  const Tensor f64 = ones({3, 4}, Dtype::f64), f32 = ones({3, 4});
  const Tensor expected = leaf(f64), rough = leaf(f32), flat = leaf(ones({12}, Dtype::f64));
  using Calls = std::vector<std::function<Tensor()>>;
  const auto kinds = [](const Calls& calls) {
    std::vector<Tensor> results;
    const Report report = look([&] {
      for (const auto& call : calls) results.push_back(call());
      return results[0];
    });
    return std::stoi(report.notes[0].substr(report.notes[0].find(" of ") + 4));
  };
  const auto a = [&] { return twice(expected, f64); };
  CHECK(kinds({a, a, a}) == 1);
  for (const auto& other :
       Calls{[&] { return twice(expected, f64, "double"); }, [&] { return twice(expected, f32); },
             [&] { return twice(expected, expected); }, [&] { return twice(rough, f64); },
             [&] { return twice(flat, f64); }, [&] { return twice(expected); }})
    CHECK(kinds({a, other}) == 2);
}

TEST_CASE("graph: a finding states the tensor's element, even next to infinities") {
  const double inf = HUGE_VAL;
  const auto place = [](const Tensor& x, const std::vector<double>& error) {
    const Tensor off = tensor(error, x.shape());
    const Report report = look([&] { return squared(leaf(x), off); });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].input == 0);
    return report.findings[0].at;
  };
  using Place = check::Dims;
  CHECK(place(kX, {0, 0, 0, 0, 1, 0}) == Place{1, 1});
  CHECK(place(reshape(kX, {6}), {0, 0, 0, 0, 1, 0}) == Place{4});
  CHECK(place(tensor(2.0, Dtype::f64), {1}).empty());
  CHECK(place(tensor({{-inf, 1.0, 2.0}, {inf, 0.5, 3.0}}, Dtype::f64), {0, 0, 0, 0, 1, 0}) ==
        Place{1, 1});
  CHECK(place(tensor({-inf, 1.0, 2.0, inf, 3.0}, Dtype::f64), {0, 0, 1, 0, 0}) == Place{2});
}

TEST_CASE("graph: an input without a gradient, or with infinities and NaN, is not a failure") {
  const Tensor y = tensor({1.0, 2.0}, Dtype::f64);
  CHECK(look([&] { return twice(leaf(y), leaf(y)); }));
  const Report wrong = look([&] {
    return apply(op::Made([](const Tensor& a, const Tensor& b) { return a + b; },
                          [](const Tensor&, const Tensor& dy) { return dy; }, "sum"),
                 leaf(y), leaf(y));
  });
  REQUIRE(wrong.verdict == Verdict::fail);
  CHECK(wrong.findings[0].analytic == 0);
  CHECK(wrong.findings[0].input_name == "input 1 of sum");
  CHECK(wrong.findings[0].input == 0);
  const Tensor masked = tensor({{-HUGE_VAL, 1.0, 2.0}, {0.0, 0.5, std::nan("")}}, Dtype::f64);
  CHECK(look([&] { return twice(leaf(masked)); }));
}

TEST_CASE("graph: an op that cannot be rerun or measured is reported and prevents a pass") {
  const Tensor x = leaf(kX);
  const auto middle = [](const Tensor& a) { return a * 2.0; };
  const Report again = look([&] { return sum(checkpoint(middle, x)); });
  INFO(again.text());
  CHECK(again.verdict == Verdict::inconclusive);
  CHECK(has(again.text(), "skipped: checkpoint (cannot be run again)"));
  const auto jump = [](const Tensor& a, const Tensor&) {
    std::vector<double> all = kernel::convert(a, Dtype::f64).to_vector<double>();
    for (double& v : all) v = v > 0.75 ? 1 / (v - 0.75) : v < 0.75 ? 1 / (v - 0.75) : 1e300;
    return tensor(all, a.shape());
  };
  const auto unseen = [&](const Tensor& error) {
    const Tensor y = apply(op::Made(
                               jump, [](const Tensor&, const Tensor& dy) { return dy; }, "jump"),
                           leaf(tensor(0.75, Dtype::f64)), Tensor());
    return y + squared(leaf(tensor(2.0, Dtype::f64)), error);
  };
  const Report jumps = look([&] { return unseen(tensor(0.0, Dtype::f64)); });
  INFO(jumps.text());
  CHECK(jumps.verdict == Verdict::inconclusive);
  CHECK(has(jumps.text(), "skipped: jump (cannot be measured)"));
  CHECK(look([&] { return unseen(tensor(1.0, Dtype::f64)); }).verdict == Verdict::fail);
}

TEST_CASE("graph: a finding reports the layer of its op") {
  struct Wrong : nn::Layer<Wrong> {
    Tensor scale = nn::parameter(tensor({1.0, 2.0, 3.0}, Dtype::f64));
    nn::Members members() override { return {{"scale", scale}}; }
    Tensor forward(const Tensor& x) const { return squared(x * scale, ones({2, 3}, Dtype::f64)); }
  } wrong;
  const Report inside = look([&] { return sum(wrong(kX)); });
  REQUIRE(inside.findings.size() == 1);
  const std::string note = inside.findings[0].note;
  CAPTURE(note);
  CHECK(note.rfind("squared (node ", 0) == 0);
  CHECK(has(note, ") in Wrong"));
  CHECK(!has(note, "called from :"));
  const Report outside = look([&] { return squared(leaf(kX), ones({2, 3}, Dtype::f64)); });
  CHECK(!has(outside.findings[0].note, " in "));
}

TEST_CASE("graph: an error within atol of the largest derivative passes") {
  const Tensor x = tensor({1e-6, 3.0}, Dtype::f64), off = tensor({1e-4, 0.0}, Dtype::f64);
  CHECK(look([&] { return squared(leaf(x), off); }).verdict == Verdict::fail);
  CHECK(look([&] { return squared(leaf(x), off); }, {.seconds = 600, .atol = 100}));
}

}  // namespace gradus::testing::test_graph
