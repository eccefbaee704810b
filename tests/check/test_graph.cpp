// Which operation of a step is wrong: a planted one is named with its layer and line, and no other.
#include "gradus/check/graph.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "gradus/check/raw/random.h"
#include "gradus/engine/apply.h"
#include "gradus/models/gpt.h"
#include "gradus/nn/block.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"

namespace gradus {
namespace {

using testing::message_of;

/// The operation of this name has a backward that gives its first wanted gradient 1.001 times.
class WrongBackward : public Observer {
 public:
  explicit WrongBackward(std::string name) : name_(std::move(name)) {}
  void backward_end(const Node& node, const Gradients& dx) override {
    if (node.name() != name_) return;
    for (const Gradient& each : dx) {
      if (!each.defined()) continue;
      const NoGrad off;
      auto& gradient = const_cast<Gradient&>(each);  // the walk's own, which is not const
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

/// The names of what is recorded.
class Names : public Observer {
 public:
  void op_end(const Op& op, std::span<const Tensor* const>, const Tensor& y) override {
    if (y.node()) all.insert(op.name());
  }
  std::set<std::string> all;
};

nn::GPTOptions small() {
  return {.vocab = 11, .context = 7, .layers = 2, .heads = 2, .width = 6, .dropout = 0.2};
}

struct Step {
  Step() : model(small()) { model.train(); }
  Tensor operator()() const { return model.loss(x, targets); }
  nn::GPT model;
  Tensor x = tensor({{1, 5, 0, 3, 10, 3, 2}, {4, 4, 7, 9, 8, 6, 1}}, Dtype::i64);
  Tensor targets = tensor({{5, 0, 3, 10, 3, 2, 8}, {4, 7, 9, 8, 6, 1, 0}}, Dtype::i64);
};

}  // namespace

TEST_CASE("a right step passes, and what was looked at is said") {
  const Step step;
  const check::Report report = check::graph([&] { return step(); }, {.seconds = 600});
  INFO(report.text());
  CHECK(report);
  CHECK(report.text().find("left out") == std::string::npos);
  CHECK(report.notes[0].find("kinds of operations, of") != std::string::npos);
}

TEST_CASE("an operation with a wrong backward is named, with its layer, and no other") {
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

// By hand, on a quiet machine, for the limit is the clock's, which counts the step itself too:
// gradus_tests_check "a step of the size cpu*"
TEST_CASE("a step of the size cpu passes in five seconds, and what is wrong in it is named",
          "[.]") {
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
  CHECK(right.text().find("moved one by one") != std::string::npos);
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

TEST_CASE("steps of random small models pass, whatever they are made of") {
  const char* many = std::getenv("GRADUS_TEST_STEPS");  // 1000: by hand
  const std::uint64_t steps = many == nullptr ? 24 : std::strtoull(many, nullptr, 10);
  for (std::uint64_t i = 0; i < steps; ++i) {
    CAPTURE(i);
    check::Random random(i + 1);
    const auto between = [&](std::int64_t low, std::int64_t high) {
      return low + random.below(high - low + 1);
    };
    nn::GPTOptions options{.vocab = between(3, 17), .context = between(1, 9)};
    options.layers = between(1, 2);
    options.heads = between(1, 3);
    options.width = options.heads * 2 * between(1, 3);
    options.dropout = 0.2 * static_cast<double>(between(0, 1));
    options.norm_kind = i % 2 == 0 ? nn::NormKind::layer : nn::NormKind::rms;
    options.position = std::array{nn::HeadPosition::none, nn::HeadPosition::rotary,
                                  nn::HeadPosition::alibi, nn::HeadPosition::relative}[i / 2 % 4];
    options.window = between(0, 3);
    options.activation = i % 3 == 0 ? nn::Activation::relu : nn::Activation::gelu;
    nn::GPT model(options);
    model.train();
    const Tensor ids = randint(0, options.vocab, {between(1, 3), options.context});
    const check::Report report =
        check::graph([&] { return model.loss(ids, ids); }, {.seconds = 600, .seed = i});
    INFO(report.text());
    CHECK(report);
    CHECK(report.text().find("left out") == std::string::npos);
  }
}

TEST_CASE("a wrong operation within a layer is what check::module names") {
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

TEST_CASE("a loss that records nothing is refused") {
  const Tensor x = ones({2});
  CHECK(message_of<GraphError>([&] {
          static_cast<void>(check::graph([&] { return sum(x); }));
        }).find("no operation was recorded") != std::string::npos);
  CHECK_THROWS_AS(check::graph([] { return Tensor(); }), ValueError);
}

}  // namespace gradus
