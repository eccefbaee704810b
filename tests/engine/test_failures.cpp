#include <alloca.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "gradus/engine/apply.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/observer.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_failures {
namespace {

using testing::has;
using testing::message_of;

Tensor leaf(double value) { return tensor({value}, Dtype::f64).requires_grad_(); }

struct ThrowsAtWalk : Observer {
  void on_walk_begin(std::span<const Tensor>, bool) override {
    throw std::runtime_error("observer");
  }
};

/// Runs a backward pass that an observer aborts. Its stack frame is deeper than that of the next
/// pass.
[[gnu::noinline]] void refused_walk(const Tensor& w) {
  volatile char* room = static_cast<volatile char*>(alloca(20000));
  room[0] = 1;
  ThrowsAtWalk observer;
  const ObserverScope scope(observer);
  CHECK_THROWS_AS((w * 2.0).backward(), std::runtime_error);
}

[[gnu::noinline]] void overwrite_stack() {
  volatile char* room = static_cast<volatile char*>(alloca(40000));
  for (int i = 0; i < 40000; ++i) room[i] = 0x41;
}

struct Box : Scoped {
  std::string name_of(const Scoped&) const override { return ""; }
  std::string type_name() const override { return "Box"; }
};

struct Circular final : Op {
  std::vector<Tensor>* result;
  explicit Circular(std::vector<Tensor>* y) : result(y) {}
  const char* name() const override { return "circular"; }
  Tensor forward(const Tensor& x) { return x * 1.0; }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    for (const Tensor& y : std::exchange(*result, {})) y.backward();
    return {dy};
  }
};

}  // namespace

TEST_CASE("backward works after an observer threw at the start of a pass") {
  const Tensor w = leaf(3);
  refused_walk(w);
  overwrite_stack();
  (w * 5.0).backward();
  CHECK(w.grad().item() == 5);
}

TEST_CASE("an observer that throws at the start of a layer leaves no scope open") {
  struct ThrowsAtScope : Observer {
    void on_scope_begin(const Scope&) override { throw std::runtime_error("observer"); }
  } observer;
  {
    const ObserverScope observing(observer);
    const Box box;
    CHECK_THROWS_AS(Scope(box), std::runtime_error);
  }
  CHECK(current_context() == "");
}

TEST_CASE("backward through a node whose backward is running throws GraphError") {
  const Tensor w = leaf(3);
  std::vector<Tensor> result;
  const Tensor y = apply(Circular(&result), w * 2.0);
  result.push_back(y);
  const std::string message = message_of<GraphError>([&] { y.backward(); });
  CHECK(has(message, "circular"));
  CHECK(has(message, "is running"));
  CHECK_FALSE(w.grad().defined());
}

TEST_CASE("backward that an observer starts through a running node throws GraphError") {
  struct Starts : Observer {
    Tensor y;
    void on_backward_begin(const Node&, const Tensor&) override {
      if (const Tensor once = std::exchange(y, {}); once.defined()) once.backward();
    }
  } observer;
  const Tensor w = leaf(3), y = w * 2.0;
  observer.y = y;
  const ObserverScope scope(observer);
  CHECK_THROWS_AS(y.backward(), GraphError);
}

TEST_CASE("a hook that throws leaves the leaves without hooks unchanged") {
  const Tensor hooked = leaf(1), before = leaf(2), after = leaf(3);
  hooked.register_post_accumulate_hook([](Tensor&) { throw std::runtime_error("hook"); });
  const Tensor y = after * (hooked * (before * 2.0));
  CHECK_THROWS_AS(y.backward(), std::runtime_error);
  CHECK_FALSE(before.grad().defined());
  CHECK_FALSE(after.grad().defined());
}

}  // namespace gradus::testing::test_failures
