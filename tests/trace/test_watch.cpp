// Tests that a Watch records ops, and that why() finds the ends of gradient paths in them.
#include "gradus/trace/watch.h"

#include <memory>
#include <string>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/thread_state.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/nn/module.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/trace/why.h"

namespace gradus::testing::test_watch {
namespace {

using trace::Watch;

Tensor leaf() { return tensor({1, 2}).requires_grad_(); }

struct Twice : nn::Layer<Twice> {
  std::function<void()> before = [] {}, after = [] {};
  nn::Members members() override { return {}; }
  Tensor forward(const Tensor& x) const {
    before();
    Tensor y = x * 2.0;
    after();
    return y;
  }
};

struct Outer : nn::Layer<Outer> {
  Twice inner;
  nn::Members members() override { return {{"inner", inner}}; }
  Tensor forward(const Tensor& x) const { return inner(x); }
};

struct Given : nn::Layer<Given> {
  Tensor a = nn::parameter(ones({2})), b = nn::parameter(ones({2}));
  std::function<Tensor()> f;
  nn::Members members() override { return {{"a", a}, {"b", b}}; }
  Tensor forward() const { return f(); }
};

std::string ended_at(const Tensor& y, const Given& model, const std::string& name) {
  for (const trace::Unreached& each : trace::unreached(y, model))
    if (each.name == name) return each.ended_at;
  return "reached";
}

}  // namespace

TEST_CASE("a watch finds the operation of a value by node and by storage") {
  const Watch watch;
  const Tensor x = leaf(), y = exp(x);
  REQUIRE(watch.maker_of(y.detach()));
  CHECK(watch.maker_of(y.detach())->op == "exp");
  CHECK(watch.of(y.node()->id)->op == "exp");
  CHECK(watch.maker_of(x.detach()) == nullptr);
  CHECK(watch.maker_of(reshape(y, {2, 1}).detach())->op == "reshape");
}

TEST_CASE("a watch records the operations of a gradient with create_graph") {
  const Watch watch;
  const Tensor x = leaf();
  const Tensor dx = grad(sum(x * x * x), x, {.create_graph = true});
  CHECK(watch.of(dx.node()->id) != nullptr);
}

TEST_CASE("a layer that was open before a watch counts as the layer of its operations") {
  std::unique_ptr<Watch> watch;
  Twice layer;
  layer(leaf());  // in a layer's first call, another observer checks its members
  layer.before = [&] { watch = std::make_unique<Watch>(); };
  layer(leaf());
  layer.before = [] {};
  layer(leaf());
  exp(leaf());
  std::string layers;
  for (const Watch::Event& event : watch->events()) layers += watch->layer(event).text() + ".";
  CHECK(layers == "Twice.Twice..");
}

TEST_CASE("a watch records nothing inside a parallel loop") {
  const Watch watch;
  const Twice inner, outer;
  const auto parallel = [](const auto& f) {
    const ScopedValue<bool> inside(thread_state.parallel, true);
    f();
  };
  {
    const Scope one(outer);
    parallel([&] { inner(leaf()); });
    CHECK(watch.events().empty());
    exp(leaf());
    std::unique_ptr<Scope> two;
    parallel([&] { two = std::make_unique<Scope>(inner); });
    parallel([&] { two.reset(); });
    exp(leaf());
  }
  exp(leaf());
  Outer nested;
  nested.inner.before = [&] { parallel([&] { inner(ones({2})); }); };
  nested(ones({2}));
  std::string layers;
  for (const Watch::Event& event : watch.events()) layers += watch.layer(event).text() + ".";
  CHECK(layers == "Twice.Twice..Outer inner.");
}

TEST_CASE("why lists each end of a parameter's paths once, without repeated visits") {
  const Watch watch;
  Given model;
  model.f = [&] {
    Tensor deep = model.a;
    for (int i = 0; i < 60; ++i) deep = deep + deep;
    tanh(model.a), tanh(model.a), exp(deep);
    return model.b * square(model.a.detach());
  };
  const Tensor y = model();
  CHECK(ended_at(y, model, "a") ==
        "it was detached before square in Given; no operation used the result of tanh in Given, or "
        "its values were copied out of the graph; no operation used the result of exp in Given, or "
        "its values were copied out of the graph");
  CHECK(ended_at(y, model, "b") == "reached");
  CHECK(watch.path_end(model.a) == ended_at(y, model, "a"));
  CHECK(watch.path_end(ones({2})) == "");
  CHECK(watch.path_end(Tensor()) == "");
  CHECK(why(Tensor(), model) == "an undefined tensor\n");
}

TEST_CASE("a frozen parameter has neither a path end nor a guessed reason") {
  Given model;
  const Tensor other = tanh(leaf());
  model.f = [&] { return exp(model.a.detach()) * other; };
  model.b.requires_grad_(false);
  const Tensor y = model();
  CHECK(contains(why(y, model), "reason:"));  // the reason concerns a, because b is frozen
  const Watch watch;
  const Tensor again = model();
  CHECK(ended_at(again, model, "b") == "");
  CHECK(ended_at(again, model, "a") == "it was detached before exp in Given");
  CHECK_FALSE(contains(why(again, model), "reason:"));
}

TEST_CASE("a frozen parameter with an old gradient is not reported as reached") {
  Given model;
  model.f = [&] { return sum(model.a * 2.0); };
  model.b.set_grad(ones({2}));
  model.b.requires_grad_(false);
  const Tensor y = model();
  y.backward();
  CHECK(contains(why(y, model), "not reached   b [2]: frozen"));
  CHECK(contains(why(y, model), "reached       a [2]: has a gradient"));
}

}  // namespace gradus::testing::test_watch
