#include "gradus/trace/nan_finder.h"

#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "gradus/engine/apply.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/base/thread_state.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/create.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/members.h"
#include "gradus/ops/ops.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/softmax.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/environment.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_nan_finder {

namespace op {

/// y = x, whose backward computes 0/0.
struct BadKernel final : Op {
  const char* name() const override { return "bad_kernel"; }
  Tensor forward(const Tensor& x) { return x.clone(); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {full(dy.shape(), std::numeric_limits<double>::quiet_NaN(), dy.dtype())};
  }
};

/// Returns a gradient for b that is NaN.
struct BadSecond final : Op {
  const char* name() const override { return "bad_second"; }
  Tensor forward(const Tensor& a, const Tensor&) { return a.clone(); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {dy, full(dy.shape(), std::numeric_limits<double>::quiet_NaN(), dy.dtype())};
  }
};

struct Backward final : Op {
  std::function<Gradients(const Tensor&)> run;
  const char* name() const override { return "backward"; }
  Tensor forward(const Tensor& x) { return x.clone(); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return run(dy); }
};

}  // namespace op

namespace {

using testing::has;
using testing::message_of;
using trace::NanError;
using trace::NanFinder;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor leaf(std::initializer_list<double> values) { return tensor(values).requires_grad_(); }

std::string found_in(const std::function<void()>& f) {
  return message_of<NanError>([&] {
    const NanFinder finder;
    f();
  });
}

const std::string kNothing = "nothing was thrown";

std::string found_behind(const Tensor& x, std::function<Gradients(const Tensor&)> run) {
  op::Backward op;
  op.run = std::move(run);
  const Tensor y = apply(std::move(op), x);
  return found_in([&] { y.backward(ones(y.shape())); });
}

struct Shares : nn::Layer<Shares> {
  nn::Members members() override { return {}; }
  Tensor forward(const Tensor& x) const { return x / sum(x, {-1}, true); }
};
struct Logs : nn::Layer<Logs> {
  nn::Members members() override { return {}; }
  Tensor forward(const Tensor& x) const { return log(x); }
};

struct Model : nn::Layer<Model> {
  nn::Linear up{2, 2};
  Shares shares;
  nn::Members members() override { return {{"up", up}, {"shares", shares}}; }
  Tensor forward(const Tensor& x) const { return shares(up(x) - up(x)); }  // never -0
};

}  // namespace

TEST_CASE("a layer that divides 0 by 0 is reported with its operands") {
  const Model m;
  const std::string message = found_in([&] { m(ones({3, 2})); });
  CHECK(has(message, "divide made [3, 2] 6 nan of 6, from [3, 2] 0 and [3, 1] 0"));
  CHECK(has(message, "(in Model shares)"));
  CHECK(has(message, "(node "));
}

TEST_CASE("an overflowing exponential is reported with its step") {
  const std::string message = message_of<NanError>([] {
    NanFinder finder;
    finder.set_step(12);
    exp(tensor({1, 100}));
  });
  CHECK(message.starts_with("step 12: exp made [2] 2.718, 1 inf of 2, from [2] 1 … 100"));
  CHECK(has(found_in([] { tensor({-1.0}) / tensor({0.0}); }), "divide made [1] 1 -inf of 1"));
  CHECK(has(found_in([] { sqrt(tensor({-1.0})); }), "sqrt made [1] 1 nan"));
  CHECK(has(found_in([] { log(tensor({-1.0})); }), "log made [1] 1 nan"));
}

TEST_CASE("the finder works under NoGrad and ends with its scope") {
  const std::string message = found_in([] {
    const NoGrad off;
    exp(tensor({100.0}));
  });
  CHECK(has(message, "exp made [1] 1 inf"));
  CHECK(std::isinf(exp(tensor({100.0})).item()));
}

TEST_CASE("a square root at 0 is found in backward") {
  const Tensor x = leaf({0, 4});
  const std::string message = found_in([&] { sum(sqrt(x)).backward(); });
  CHECK(has(message, "backward of sqrt (node "));
  CHECK(has(message, "made from [2] 0 … 4"));
  CHECK(has(message, "gave [2] 0.25, 1 inf of 2 for its input 0, from dy [2] 1"));
  CHECK(has(message, "inside it divide made [2] 0.25, 1 inf of 2 from [2] 1 and [2] 0 … 4"));
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a report from backward has the path of the layer") {
  struct Rooted : nn::Layer<Rooted> {
    nn::Members members() override { return {}; }
    Tensor forward(const Tensor& x) const { return sqrt(x); }
  };
  struct Outer : nn::Layer<Outer> {
    Rooted root;
    nn::Members members() override { return {{"root", root}}; }
    Tensor forward(const Tensor& x) const { return root(x); }
  };
  const Outer m;
  CHECK(has(found_in([&] { sum(m(leaf({0}))).backward(); }), "backward of sqrt in Outer root"));
}

TEST_CASE("NaN in a gradient that is not required is ignored") {
  const auto run = [](bool expected) {
    Tensor b = tensor({3, 4});
    if (expected) b.requires_grad_();
    return found_in([&] { sum(apply(op::BadSecond{}, leaf({1, 2}), b)).backward(); });
  };
  CHECK(run(false) == kNothing);
  CHECK(has(run(true), "gave [2] 2 nan of 2 for its input 1"));
}

TEST_CASE("a wrong backward kernel is found by its result") {
  const std::string message = found_in([] {
    sum(apply(op::BadKernel{}, leaf({1, 2}))).backward();
  });
  CHECK(has(message, "backward of bad_kernel"));
  CHECK(has(message, "gave [2] 2 nan of 2"));
  CHECK_FALSE(has(message, "inside it"));
}

TEST_CASE("gradients that overflow when accumulated are found") {
  const Tensor x = leaf({0}), c = tensor({3e38});
  const std::string at_leaf = found_in([&] { sum(x * c + x * c).backward(); });
  CHECK(has(at_leaf, str_cat("the gradient of leaf ", x.node()->id, " [1] is 1 inf of 1")));
  const std::string between = found_in([&] {
    const Tensor y = tanh(x);
    sum(y * c + y * c).backward();
  });
  CHECK(has(between, "the gradient that reached tanh"));
  CHECK(has(between, "the sum is not"));

  const Tensor twice = leaf({0});
  sum(twice * c).backward();
  CHECK(has(found_in([&] { sum(twice * c).backward(); }), "or it was not finite before"));
}

TEST_CASE("a NaN in a given initial gradient is reported as such") {
  const Tensor y = exp(leaf({0, 1}));
  CHECK(has(found_in([&] { y.backward(tensor({1, kNan})); }), "it was passed to backward()"));
  const auto after_another = [] {  // the other graph's nodes are newer
    const Tensor x = leaf({0, 1}), older = exp(x), younger = exp(x);
    sum(younger).backward();
    older.backward(tensor({1, kNan}));
  };
  CHECK(has(found_in(after_another), "it was passed to backward()"));
}

TEST_CASE("a bias of minus infinity raises no false alarm, forward and backward") {
  const Tensor q = randn({1, 1, 3, 4}).requires_grad_();
  const Tensor bias = tensor({{0, -kInf, -kInf}, {0, 0, -kInf}, {0, 0, 0}});
  for (const bool formula : {false, true}) {
    const FormulaScope how(formula);
    CAPTURE(formula);
    CHECK(found_in([&] {
            const Tensor y = scaled_dot_product_attention(q, q, q, {}, {.bias = bias});
            sum(square(y)).backward();
          }) == kNothing);
    CHECK(found_in([&] {
            sum(square(scaled_dot_product_attention(q, q, q, causal_mask()))).backward();
          }) == kNothing);
  }
  const Tensor x = randn({2, 3}).requires_grad_();
  const Tensor hides = greater(tensor({{0, 1, 1}, {0, 0, 1}}), 0);
  CHECK(found_in([&] {
          const Tensor log_p = log_softmax(masked_fill(x, hides, -kInf));
          sum(masked_fill(log_p, hides, 0)).backward();
        }) == kNothing);
}

TEST_CASE("a row without allowed keys raises no false alarm") {
  const Tensor q = randn({1, 1, 2, 4}).requires_grad_();
  const Mask nothing = padding_mask({0});
  for (const bool formula : {false, true}) {
    const FormulaScope how(formula);
    CHECK(found_in([&] { sum(scaled_dot_product_attention(q, q, q, nothing)).backward(); }) ==
          kNothing);
  }
}

TEST_CASE("log 0 is reported only if the loss becomes infinite or NaN") {
  const Tensor p = leaf({0, 0.5});
  CHECK(found_in([&] { exp(log(p)); }) == kNothing);  // e^−∞ = 0
  CHECK(found_in([] { log1p(tensor({-1.0, 1})); }) == kNothing);
  const std::string message = found_in([&] { negative(sum(log(p))).backward(); });
  CHECK(has(message, "the loss, negative"));
  CHECK(has(message, "is not finite; this began with log, from [2] 0 … 0.5"));
  const std::string product = found_in([&] { p* log(p); });  // 0 · −∞
  CHECK(has(product, "multiply made [2] -0.3466, 1 nan of 2"));
  CHECK(has(product, "the infinity came from log, from [2] 0 … 0.5"));
  const std::string guarded =  // where() masks the value, but its derivative is 0 · ∞
      found_in([&] { sum(where(greater(p, 0), log(p), tensor(0.0))).backward(); });
  CHECK(has(guarded, "backward of log"));
}

TEST_CASE("an infinity is reported with the layer that produced it, or as input data") {
  const Logs logs;
  const std::string message = found_in([&] {
    const Tensor x = logs(leaf({0, 0.5}));
    sum(x - x);
  });
  CHECK(has(message, "came from log in Logs"));
  const std::string data = found_in([&] {
    const Tensor x = tensor({1.0, kInf}).requires_grad_();
    sum(x - x);
  });
  CHECK(has(data, "which was not finite before it"));
}

TEST_CASE("a NaN in the input is reported as such when it reaches the loss") {
  const nn::Linear layer(2, 2);
  const Tensor data = tensor({{1, kNan}});
  const std::string message = found_in([&] { sum(layer(data)).backward(); });
  CHECK(
      has(message, "this began with input 0 of linear in Linear, [1, 2] 1, 1 nan of 2, which was"));
  CHECK(found_in([&] { sum(layer(masked_fill(data, isnan(data), 0))).backward(); }) == kNothing);
}

TEST_CASE("with a callback, the program continues, and the callback runs once") {
  std::vector<std::string> reports;
  const Model m;
  NanFinder finder([&](const std::string& report) { reports.push_back(report); });
  CHECK_FALSE(finder.found());
  const Tensor y = m(ones({3, 2}));
  sum(exp(y + 1000)).backward();
  REQUIRE(reports.size() == 1);
  CHECK(finder.found());
  CHECK(has(reports[0], "divide made [3, 2] 6 nan"));
  CHECK(has(reports[0], "(in Model shares)"));
}

TEST_CASE("training under the finder gives the same values and no report") {
  const auto losses = [] {
    seed(3);
    nn::Linear layer(4, 3);
    std::vector<double> out;
    for (int i = 0; i < 3; ++i) {
      const Tensor loss = cross_entropy(layer(randn({5, 4})), indices({0, 1, 2, 0, 1}));
      layer.zero_grad();
      loss.backward();
      out.push_back(loss.item());
      out.push_back(sum(square(layer.weight.grad())).item());
    }
    return out;
  };
  const std::vector<double> before = losses();
  const NanFinder finder;
  CHECK(losses() == before);
}

TEST_CASE("a range shows the extremes and counts NaN and infinities") {
  CHECK(to_string(trace::range_of(tensor({1, -2, 0.5}))) == "-2 … 1");
  CHECK(to_string(trace::range_of(tensor({3, 3}))) == "3");
  CHECK(to_string(trace::range_of(tensor({kNan, kInf, -kInf, 7, kNan}))) ==
        "7, 2 nan, 1 inf, 1 -inf of 5");
  CHECK(to_string(trace::range_of(tensor({kNan}))) == "1 nan of 1");
  CHECK(to_string(trace::range_of(zeros({0, 3}))) == "no elements");
  CHECK(to_string(trace::range_of(Tensor())) == "no elements");
  CHECK(to_string(trace::range_of(indices({-4, 9}))) == "-4 … 9");
  CHECK(to_string(trace::range_of(transpose(tensor({{1, 2}, {3, 4}}), 0, 1))) == "1 … 4");
}

TEST_CASE("the first fault inside the backward of an operation is reported with its dy") {
  const Tensor x = leaf({1, 2});
  const std::string twice = found_behind(x, [](const Tensor& dy) -> Gradients {
    const Tensor big = exp(dy * 1000.0);
    return {log(dy - 2.0) * big};
  });
  CHECK(has(twice, "from dy [2] 1; inside it exp made [2] 2 inf of 2 from [2] 1000"));
  CHECK(found_behind(x, [](const Tensor& dy) -> Gradients {
          exp(dy * 10.0);  // all results are finite
          return {dy};
        }) == kNothing);
}

TEST_CASE("a nested backward keeps the dy of the outer operation") {
  const Tensor x = leaf({1, 2});
  const std::string walked = found_behind(x, [](const Tensor& dy) -> Gradients {
    const GradMode on(true);
    const Tensor inner = leaf({3, 4});
    exp(inner).backward(ones({2}));
    return {dy * full({2}, kNan)};
  });
  CHECK(has(walked, "gave [2] 2 nan of 2 for its input 0, from dy [2] 1"));
  CHECK_FALSE(has(walked, "inside it"));
}

TEST_CASE("gradients inside a parallel loop are not checked") {
  const Tensor x = leaf({1, 2}), y = exp(x), nan = full({2}, kNan);
  CHECK(found_in([&] {
          NanFinder finder;
          const ScopedValue<bool> parallel(thread_state.parallel, true);
          finder.on_backward_begin(*y.node(), nan);
          finder.on_backward_end(*y.node(), {nan});
          finder.on_leaf_accumulate(*x.node(), nan);
        }) == kNothing);
  CHECK(has(found_in([&] { NanFinder().on_leaf_accumulate(*x.node(), nan); }),
            "the gradient of leaf"));
}

TEST_CASE("a NaN initial gradient is recognized in every new backward pass") {
  const Tensor x = leaf({0, 1});
  const std::string message = found_in([&] {
    const Tensor older = exp(x);
    grad({older}, {x}, {ones({2})});
    exp(x).backward(tensor({1, kNan}));
  });
  CHECK(has(message, "it was passed to backward()"));
  const std::string again = found_in([&] {
    const Tensor y = exp(x);
    grad({y}, {x}, {ones({2})}, {.keep_graph = true});
    y.backward(tensor({1, kNan}));
  });
  CHECK(has(again, "it was passed to backward()"));
  const Tensor one = leaf({0});
  CHECK(has(found_in([&] { exp(log(one)).backward(ones({1})); }), "backward of log"));
}

TEST_CASE("GRADUS_CHECK_NAN=1 attaches a finder to a thread without other observers") {
  std::vector<std::string> message;
  const auto run = [&](const char* value, bool observed) {
    const testing::VariableScope expected("GRADUS_CHECK_NAN", value);
    std::thread([&] {
      std::unique_ptr<NanFinder> other;
      if (observed) other = std::make_unique<NanFinder>([](const std::string&) {});
      const bool first = trace::check_nan_from_env(), again = trace::check_nan_from_env();
      message.push_back(message_of<NanError>([] { exp(tensor({100.0})); }).substr(0, 8));
      CHECK(first == again);
      message.back() += first ? ", there" : ", not there";
    }).join();
  };
  run("1", false);
  run("1", true);
  run("0", false);
  CHECK(message ==
        std::vector<std::string>{"exp made, there", "nothing , not there", "nothing , not there"});
}

}  // namespace gradus::testing::test_nan_finder
