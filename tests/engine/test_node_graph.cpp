#include "gradus/engine/node.h"

#include <pthread.h>

#include <exception>
#include <functional>
#include <vector>

#include "gradus/engine/accumulate.h"
#include "gradus/engine/apply.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/base/memory.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_node_graph {

namespace op {

struct Cube final : Op {  // y = x³,  dx = 3 x² dy
  Saved x;
  const char* name() const override { return "cube"; }
  Tensor forward(const Tensor& input) {
    x = input;
    return (input.detach() * input.detach() * input.detach()).detach();
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {dy * 3.0 * square(x.value())};
  }
};

/// y = 2 x, computed by a kernel in forward and in backward. create_graph cannot record this
/// backward.
struct Twice final : Op {
  const char* name() const override { return "twice"; }
  Tensor forward(const Tensor& x) { return doubled(x); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {doubled(dy)}; }
  static Tensor doubled(const Tensor& x) {
    Tensor y = kernel::copy(x);
    add_(y, x.detach());
    return y;
  }
};

}  // namespace op

namespace {

using testing::custom;
using testing::has;
using testing::leaf;
using testing::message_of;
using List = std::vector<double>;

/// Runs f on a thread with a stack of 256 KiB. Rethrows exceptions of f.
void on_small_stack(const std::function<void()>& f) {
  struct Call {
    const std::function<void()>* f;
    std::exception_ptr error;
  } call{&f, nullptr};
  pthread_attr_t small;
  REQUIRE(pthread_attr_init(&small) == 0);
  REQUIRE(pthread_attr_setstacksize(&small, 256 * 1024) == 0);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    Call& own = *static_cast<Call*>(argument);
    try {
      (*own.f)();
    } catch (...) {
      own.error = std::current_exception();
    }
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &small, run, &call) == 0);
  REQUIRE(pthread_join(thread, nullptr) == 0);
  pthread_attr_destroy(&small);
  if (call.error) std::rethrow_exception(call.error);
}

// With this many nodes, recursion would have only 26 bytes of stack per call.
constexpr int kLong = 10'000;

/// x + 1 + 1 …; the nodes save nothing.
Tensor chain(const Tensor& x, int length) {
  Tensor y = x;
  for (int i = 0; i < length; ++i) y = y + 1.0;
  return y;
}

/// x · s · s …; each node saves the previous output, which keeps that output's node alive.
Tensor saving_chain(const Tensor& x, const Tensor& s, int length) {
  Tensor y = x;
  for (int i = 0; i < length; ++i) y = y * s;
  return y;
}

double first(const Tensor& x) { return x.to_vector<double>()[0]; }

std::int64_t live() { return memory::usage().live_bytes; }

}  // namespace

TEST_CASE("a chain of ten thousand nodes runs and is freed on a small stack") {
  const Tensor x = leaf({1}), s = leaf({1});
  sum(x + s).backward();  // allocates x.grad() and s.grad()
  const std::int64_t before = live();
  on_small_stack([&] {
    Tensor y = chain(x, kLong);
    CHECK(first(y) == 1 + kLong);
    y.backward();
  });
  CHECK(first(x.grad()) == 2);
  CHECK(live() == before);
  on_small_stack([&] { chain(x, kLong); });
  CHECK(live() == before);
}

TEST_CASE("a chain of ten thousand nodes with saved inputs runs and is freed on a small stack") {
  const Tensor x = leaf({1}), s = leaf({1});
  sum(x + s).backward();
  const std::int64_t before = live();
  on_small_stack([&] { saving_chain(x, s, kLong).backward(); });
  CHECK(first(s.grad()) == kLong + 1);
  CHECK(live() == before);
  on_small_stack([&] { saving_chain(x, s, kLong); });
  CHECK(live() == before);
  on_small_stack([&] {  // with keep_graph, the entire chain is freed at the end
    saving_chain(x, s, kLong).backward({.keep_graph = true});
  });
  CHECK(live() == before);
}

TEST_CASE("the graph of a gradient is freed on a small stack") {
  const Tensor x = leaf({1}), s = leaf({1});
  const std::int64_t before = live();
  on_small_stack([&] {
    const Tensor y = saving_chain(x, s, 10'000);
    const Tensor d = grad({y}, {s}, {}, {.create_graph = true})[0];
    CHECK(first(d) == 10'000);
    CHECK(d.requires_grad());
  });
  CHECK(live() == before);
}

TEST_CASE("backward frees saved tensors while the output is still alive") {
  const Tensor x = ones({1000}, Dtype::f64).requires_grad_();
  const std::int64_t before = live();
  const Tensor y = sum(exp(exp(exp(x))) * 1e-9);
  CHECK(live() >= before + 3 * 8000);
  y.backward();
  CHECK(live() <= before + 8000 + 64);  // x.grad() and y are live
}

TEST_CASE("a custom op of ten lines has derivatives of every order") {
  const Tensor x = leaf({2, -1});
  const Tensor y = apply(op::Cube{}, x);
  CHECK(y.to_vector<double>() == List{8, -1});
  const Tensor dx = grad({sum(y)}, {x}, {}, {.create_graph = true})[0];
  CHECK(dx.to_vector<double>() == List{12, 3});
  sum(dx).backward();
  CHECK(x.grad().to_vector<double>() == List{12, -6});
}

TEST_CASE("an error about mismatched gradients names the op") {
  const Tensor x = leaf({1, 2});
  const auto message = [&](const std::function<Gradients(const Tensor&)>& answer) {
    return message_of<Error>([&] { sum(custom(x, answer)).backward(); });
  };
  const std::string count = message([](const Tensor& dy) { return Gradients{dy, dy}; });
  CHECK(has(count, "custom"));
  CHECK(has(count, "2 gradients for 1 input"));
  const std::string shape =
      message([](const Tensor&) { return Gradients{zeros({3}, Dtype::f64)}; });
  CHECK(has(shape, "custom"));
  CHECK(has(shape, "[3]"));
  CHECK(has(shape, "[2]"));
  const std::string dtype = message([](const Tensor&) { return Gradients{zeros({2})}; });
  CHECK(has(dtype, "custom"));
  CHECK(has(dtype, "f32"));
  CHECK(!x.grad().defined());
}

TEST_CASE("partial gradients are added at their positions") {
  const Tensor x = ones({5, 2}, Dtype::f64).requires_grad_();
  const auto give = [&](const Gradient& part) {
    sum(custom(x, [part](const Tensor&) { return Gradients{part}; })).backward();
  };
  give(Gradient::slice(full({2, 2}, 3, Dtype::f64), 0, 1, 2));  // rows 1 and 3
  give(Gradient::slice(full({5, 1}, 10, Dtype::f64), 1, 1));    // column 1
  give(Gradient::rows(full({3, 2}, 100, Dtype::f64), indices({4, 0, 4})));
  give(Gradient::slice(ones({0, 2}, Dtype::f64), 0, 9));  // empty
  CHECK(x.grad().to_vector<double>() == List{100, 110, 3, 13, 0, 10, 3, 13, 200, 210});
}

TEST_CASE("a partial gradient outside its tensor is rejected before any write") {
  const Tensor x = ones({5, 2}, Dtype::f64).requires_grad_();
  const Tensor part = full({3, 2}, 1, Dtype::f64);
  for (const Gradient& bad :
       {Gradient::slice(part, 0, 3), Gradient::slice(part, 0, 1, 2), Gradient::slice(part, 0, -1),
        Gradient::slice(part, 2, 0), Gradient::slice(part, -1, 0), Gradient::slice(part, 1, 0),
        Gradient::slice(part, 0, 0, 0), Gradient::slice(part, 0, std::int64_t{1} << 62),
        Gradient::slice(ones({3}, Dtype::f64), 0, 0),
        Gradient::slice(ones({3, 2, 1}, Dtype::f64), 0, 0),
        Gradient::rows(part, indices({0, 5, 1})), Gradient::rows(part, indices({0, -1, 1})),
        Gradient::rows(part, indices({0, 1}))}) {
    const Tensor y = custom(x, [bad](const Tensor&) { return Gradients{bad}; });
    CHECK_REFUSES(Error, sum(y).backward(), "custom");
  }
  CHECK(!x.grad().defined());
}

TEST_CASE("create_graph rejects a partial gradient that it would lose") {
  const Tensor x = ones({5, 2}, Dtype::f64).requires_grad_();
  const Tensor y = custom(x, [](const Tensor& dy) { return Gradients{Gradient::slice(dy, 0, 0)}; });
  const auto twice = [&] { grad({sum(y)}, {x}, {}, {.create_graph = true}); };
  CHECK(has(message_of<GraphError>(twice), "custom"));
}

TEST_CASE("create_graph names an op whose backward records no graph") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const Tensor x = full({2}, 3, dtype).requires_grad_();
    const Tensor y = sum(apply(op::Twice{}, x));
    CHECK(testing::numbers(grad(y, x, {.keep_graph = true})) == List{2, 2});
    CHECK_REFUSES(GraphError, grad(y, x, {.create_graph = true}), "twice", "node");
  }
}

TEST_CASE("an op without a backward throws an error with its name") {
  const Tensor x = leaf({1});
  CHECK_REFUSES(GraphError, sum(apply(gradus::op::Nothing{}, x)).backward(), "nothing", "detach()");
  const NoGrad off;
  CHECK_FALSE(apply(gradus::op::Nothing{}, x).requires_grad());
}

TEST_CASE("an error inside backward names the op, and later errors do not") {
  const Tensor x = leaf({1});
  const Tensor y = custom(x, [](const Tensor&) -> Gradients { fail<ValueError>("broken"); });
  const std::string message = message_of<ValueError>([&] { sum(y).backward(); });
  CHECK(has(message, "broken"));
  CHECK(has(message, "backward of custom"));
  CHECK(!has(message_of<ValueError>([] { fail<ValueError>("elsewhere"); }), "custom"));
}

TEST_CASE("an input without a gradient keeps no node alive") {
  const Tensor x = leaf({1}), constant = tensor({2}, Dtype::f64);
  const Tensor y = x * constant;
  REQUIRE(y.node()->inputs.size() == 2);
  CHECK(y.node()->inputs[0] == x.node());
  CHECK(y.node()->inputs[1] == nullptr);
  CHECK(y.node()->name() == std::string("multiply"));
  CHECK(x.node()->name() == std::string("leaf"));
  CHECK(y.node()->id > x.node()->id);
}

TEST_CASE("run_again returns an undefined tensor for a node that backward released") {
  const Tensor x = leaf({3, 3});
  const Tensor y = negative(x);
  CHECK(y.node()->run_again({x}).to_vector<double>() == List{-3, -3});
  sum(y).backward();
  CHECK_FALSE(y.node()->run_again({x}).defined());
}

}  // namespace gradus::testing::test_node_graph
