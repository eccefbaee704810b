// The NaN finder between backward passes, inside them, in parallel loops, and by GRADUS_CHECK_NAN.
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "gradus/base/thread_state.h"
#include "gradus/engine/apply.h"
#include "gradus/engine/backward.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/environment.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/trace/nan_finder.h"

namespace gradus {

namespace op {

/// y = x, whose backward does what a test gives it.
struct Backward final : Op {
  std::function<Gradients(const Tensor&)> run;
  const char* name() const override { return "backward"; }
  Tensor forward(const Tensor& x) { return x.clone(); }
  Gradients backward(const Tensor& dy, const Wanted&) override { return run(dy); }
};

}  // namespace op

namespace testing {
namespace {

using trace::NanError;
using trace::NanFinder;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const char* const kNothing = "nothing was thrown";

Tensor leaf(std::initializer_list<double> values) { return tensor(values).requires_grad_(); }

/// What the finder says of f.
template <class F>
std::string found_in(F f) {
  return refusal<NanError>([&] {
    const NanFinder finder;
    f();
  });
}

/// The same of a backward from what an operation made of x, which goes back by `run`.
std::string found_behind(const Tensor& x, std::function<Gradients(const Tensor&)> run) {
  op::Backward op;
  op.run = std::move(run);
  const Tensor y = apply(std::move(op), x);
  return found_in([&] { y.backward(ones(y.shape())); });
}

}  // namespace

TEST_CASE("the first fault inside an operation's backward is reported with its own dy") {
  const Tensor x = leaf({1, 2});
  const std::string twice = found_behind(x, [](const Tensor& dy) -> Gradients {
    const Tensor big = exp(dy * 1000.0);
    return {log(dy - 2.0) * big};
  });
  CHECK(contains(twice, "from dy [2] 1; inside it exp made [2] 2 inf of 2 from [2] 1000"));
  CHECK(found_behind(x, [](const Tensor& dy) -> Gradients {
          exp(dy * 10.0);  // all of it finite
          return {dy};
        }) == kNothing);
}

TEST_CASE("a nested backward leaves the outer operation its own dy") {
  const Tensor x = leaf({1, 2});
  const std::string walked = found_behind(x, [](const Tensor& dy) -> Gradients {
    const GradMode on(true);
    const Tensor inner = leaf({3, 4});
    exp(inner).backward(ones({2}));
    return {dy * full({2}, kNan)};
  });
  CHECK(contains(walked, "gave [2] 2 nan of 2 for its input 0, from dy [2] 1"));
  CHECK_FALSE(contains(walked, "inside it"));
}

TEST_CASE("a finder that starts inside a backward reports its end without dy") {
  const Tensor x = leaf({1, 2});
  op::Backward op;
  std::unique_ptr<NanFinder> finder;
  op.run = [&](const Tensor& dy) -> Gradients {
    finder = std::make_unique<NanFinder>();
    return {dy / (dy - dy)};
  };
  const Tensor y = apply(std::move(op), x);
  const std::string said = refusal<NanError>([&] { y.backward(ones({2})); });
  finder.reset();
  INFO(said);
  CHECK(contains(said, "backward of backward (node "));
  CHECK(contains(said, "gave [2] 2 inf of 2 for its input 0, from dy "));
  CHECK_FALSE(contains(said, "from dy ["));
}

TEST_CASE("each end of a backward is reported with the dy of its own begin") {
  const Tensor x = leaf({1, 2}), y = exp(x), z = tanh(x), nan = full({2}, kNan);
  const auto said = [&](const Tensor& ends) {
    return found_in([&] {
      NanFinder finder;
      finder.backward_begin(*z.node(), full({2}, 5));
      finder.backward_begin(*y.node(), full({2}, 7));
      finder.backward_end(*y.node(), {Gradient()});
      finder.backward_end(*ends.node(), {nan});
    });
  };
  CHECK(said(z).ends_with("from dy [2] 5"));
  CHECK(said(y).ends_with("from dy "));
}

TEST_CASE("gradients inside a parallel loop are not checked") {
  const Tensor x = leaf({1, 2}), y = exp(x), nan = full({2}, kNan);
  CHECK(found_in([&] {
          NanFinder finder;
          const ScopedValue<bool> parallel(thread_state.parallel, true);
          finder.backward_begin(*y.node(), nan);
          finder.backward_end(*y.node(), {nan});
          finder.accumulated(*x.node(), nan);
        }) == kNothing);
  CHECK(
      contains(found_in([&] { NanFinder().accumulated(*x.node(), nan); }), "the gradient of leaf"));
}

TEST_CASE("a NaN starting gradient is recognized in every new backward pass") {
  const Tensor x = leaf({0, 1});
  const std::string said = found_in([&] {
    const Tensor older = exp(x);
    grad({older}, {x}, {ones({2})});
    exp(x).backward(tensor({1, kNan}));
  });
  CHECK(contains(said, "it was given so to backward()"));
  const std::string again = found_in([&] {
    const Tensor y = exp(x);
    grad({y}, {x}, {ones({2})}, {.keep_graph = true});
    y.backward(tensor({1, kNan}));
  });
  CHECK(contains(again, "it was given so to backward()"));
  const Tensor one = leaf({0});
  CHECK(contains(found_in([&] { exp(log(one)).backward(ones({1})); }), "backward of log"));
}

TEST_CASE("the callback runs once, not for every fault") {
  std::vector<std::string> told;
  const NanFinder finder([&](const std::string& what) { told.push_back(what); });
  exp(tensor({100.0}));
  exp(tensor({200.0}));
  CHECK(told.size() == 1);
}

TEST_CASE("minus infinity of a logarithm is accepted, and NaN is reported") {
  CHECK(found_in([] { log(tensor({0.0, 1})), log1p(tensor({-1.0, 1})); }) == kNothing);
  CHECK(contains(found_in([] { log(tensor({-1.0, 0})); }), "log made"));
  CHECK(contains(found_in([] { log1p(tensor({-2.0, -1})); }), "log1p made"));
  CHECK(contains(found_in([] { reciprocal(tensor({0.0})); }), "reciprocal made"));
}

TEST_CASE("GRADUS_CHECK_NAN=1 attaches a finder to a thread without other observers") {
  std::vector<std::string> said;
  const auto run = [&](const char* value, bool observed) {
    const VariableScope wanted("GRADUS_CHECK_NAN", value);
    std::thread([&] {
      std::unique_ptr<NanFinder> other;
      if (observed) other = std::make_unique<NanFinder>([](const std::string&) {});
      const bool first = trace::check_nan_if_asked(), again = trace::check_nan_if_asked();
      said.push_back(refusal<NanError>([] { exp(tensor({100.0})); }).substr(0, 8));
      CHECK(first == again);
      said.back() += first ? ", there" : ", not there";
    }).join();
  };
  run("1", false);
  run("1", true);
  run("0", false);
  CHECK(said ==
        std::vector<std::string>{"exp made, there", "nothing , not there", "nothing , not there"});
}

}  // namespace testing
}  // namespace gradus
