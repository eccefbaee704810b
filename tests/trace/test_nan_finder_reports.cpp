// What the NaN finder says of one fault after the other, whole: tests/golden/trace/nan.txt.
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "gradus/base/thread_state.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/golden.h"
#include "gradus/trace/nan_finder.h"

namespace gradus::testing {
namespace {

using trace::NanError;
using trace::NanFinder;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor leaf(std::initializer_list<double> values) { return tensor(values).requires_grad_(); }

std::string said;

/// What is thrown, or what a callback is told: the same, and where it is.
void report(const char* name, const std::function<void()>& f) {
  const std::string thrown = refusal<NanError>([&] {
    const NanFinder finder;
    f();
  });
  std::string told;
  int times = 0;
  {
    NanFinder finder([&](const std::string& what) { told += what, ++times; });
    finder.set_step(7);
    f();
    CHECK(finder.found() == (times == 1));
  }
  const auto one = [&](const std::string& text) {
    return renumbered(text, {"node ", "leaf "}) + "\n";
  };
  said += std::string("== ") + name + "\n" + one(thrown) + (times == 0 ? "" : one(told));
}

struct Rooted : nn::Layer<Rooted> {
  nn::Members members() override { return {}; }
  Tensor forward(const Tensor& x) const { return sqrt(x - 1.0) / x; }
};
struct Model : nn::Layer<Model> {
  Rooted root;
  nn::Members members() override { return {{"root", root}}; }
  Tensor forward(const Tensor& x) const { return root(x); }
};

/// Log space, and out of it.
struct Logs : nn::Layer<Logs> {
  nn::Members members() override { return {}; }
  Tensor forward(const Tensor& x) const { return log(x); }
};

void forwards() {
  const Model model;
  report("nothing", [] { exp(leaf({1, 2})); });
  report("exp", [] { exp(tensor({1, 100, -200})); });
  report("recorded", [] { exp(leaf({1, 100})); });
  report("in a layer", [&] { model(tensor({0, 1, 2})); });
  report("recorded in a layer", [&] { model(leaf({0, 1, 2})); });
  report("of no numbers", [] { exp(zeros({0, 2})); });
  report("of whole numbers", [] { tensor({1.0, 2.0}) / zeros({2}, Dtype::i64).to(Dtype::f32); });
  report("-inf", [] { tensor({-1.0}) / tensor({0.0}); });
  report("nan and inf", [] { tensor({-1.0, 0.0}) / tensor({0.0, 0.0}); });
  report("came in as nan", [] { exp(tensor({kNan, 1})); });
  report("came in as nan, made inf", [] { exp(tensor({kNan, 100})); });
  report("came in as inf", [] { tensor({kInf, 1}) * 2.0; });
  report("came in as inf, made nan", [] { tensor({1.0, 2}) * (tensor({kInf, 1}) * 0.0); });
  report("second input", [] { tensor({1.0, 2}) * tensor({0.0, 1}) * tensor({kNan, kInf}); });
  report("three inputs", [] { linear(full({1, 2}, 3e38), full({2, 2}, 3e38), tensor({1, 2})); });
  report("without a bias", [] { linear(full({1, 2}, 3e38), full({2, 2}, 3e38)); });
  report("log 0", [] { log(tensor({0.0, 1})); });
  report("log -1", [] { log(tensor({-1.0, 0})); });
  report("log inf", [] { log(tensor({kInf, 1})); });
  report("log1p -1", [] { log1p(tensor({-1.0, 1})); });
  report("log1p -2", [] { log1p(tensor({-2.0, 1})); });
  report("log 0 and then", [] { log(tensor({0.0, 1})) * tensor({0.0, 1}); });
  report("log 0 in a layer and then", [] { Logs()(tensor({0.0, 1})) * tensor({0.0, 1}); });
  report("masked", [] { masked_fill(tensor({1.0, 2}), greater(tensor({0, 1}), 0), -kInf); });
  report("masked with inf", [] {
    masked_fill(tensor({1.0, 2}), greater(tensor({0, 1}), 0), kInf);
  });
  report("masked with nan", [] {
    masked_fill(tensor({1.0, 2}), greater(tensor({0, 1}), 0), kNan);
  });
  report("in another's loop", [] {
    thread_state.parallel = true;
    const Tensor y = exp(leaf({100}));
    thread_state.parallel = false;
    y.backward(tensor({1.0}));
  });
}

void backwards() {
  const Model model;
  const Tensor zero = leaf({0, 4}), c = tensor({3e38});
  report("sqrt", [&] { sum(sqrt(zero)).backward(); });
  report("sqrt in a layer", [&] { sum(model(leaf({1, 2}))).backward(); });
  report("not at first", [&] { sum(square(sqrt(exp(zero) * zero))).backward(); });
  report("the second input", [] { sum(pow(leaf({1.0}), leaf({2.0})) * 1.0).backward(); });
  report("given so", [] { exp(leaf({0, 1})).backward(tensor({1, kNan})); });
  report("given so to a leaf's double", [] { (leaf({0, 1}) * 2.0).backward(tensor({kInf, 1})); });
  report("after another", [] {
    const Tensor x = leaf({0, 1}), older = exp(x), younger = exp(x);
    sum(younger).backward();
    older.backward(tensor({1, kNan}));
  });
  report("sum at a leaf", [&] {
    const Tensor x = leaf({0});
    sum(x * c + x * c).backward();
  });
  report("sum between", [&] {
    const Tensor y = tanh(leaf({0}));
    sum(y * c + y * c).backward();
  });
  report("hook", [] {
    const Tensor y = exp(leaf({0}));
    y.register_hook([](const Tensor& dy) { return dy * kInf; });
    sum(y).backward();
  });
  report("not finite before", [&] {
    Tensor x = leaf({0});
    x.set_grad(tensor({kInf}));
    sum(x * 2.0).backward();
  });
  report("the loss", [&] { negative(sum(log(zero))).backward(); });
  report("the loss of one number", [] { log(leaf({0.0})).backward(tensor({1.0})); });
  report("no loss", [&] { log(zero).backward(tensor({1.0, 1.0})); });
  report("the loss, in a layer", [&] { sum(model(leaf({kNan}))).backward(); });
  report("twice", [] {
    const Tensor x = leaf({0.0}), y = sqrt(x) * 0.5;
    const NanFinder quiet([](const std::string&) {});
    sum(y).backward({.keep_graph = true});
    sum(y).backward();
  });
  report("made before", [&] {
    static const Tensor y = sum(sqrt(leaf({0.0})));
    y.backward({.keep_graph = true});
  });
  report("given so the second time", [] {
    const Tensor y = exp(leaf({0.0})) * 2.0;
    y.backward(tensor({1.0}), {.keep_graph = true});
    y.backward(tensor({kNan}));
  });
  report("second derivative", [] {
    const Tensor x = leaf({0.0}), dx = grad(sum(x * sqrt(x)), x, {.create_graph = true});
    sum(dx).backward();
  });
}

}  // namespace

TEST_CASE("reports of what is not finite are those of golden/trace/nan.txt") {
  const NoPrograms quick;  // a caller's line is a matter of the build
  said.clear();
  forwards();
  backwards();
  check_golden("trace/nan.txt", said);
  CHECK(contains(refusal<NanError>([] {
                   NanFinder finder;
                   finder.set_step(0);
                   exp(tensor({100.0}));
                 }),
                 "step 0: exp made [1] 1 inf of 1"));
}

}  // namespace gradus::testing
