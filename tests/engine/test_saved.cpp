#include <vector>

#include "gradus/engine/apply.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/base/memory.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_saved {

namespace op {

struct CheapSquare final : Op {  // y = x², dx = 2 x dy; ops that save y recompute it
  Saved x;
  static inline int remade = 0;
  const char* name() const override { return "cheap_square"; }
  bool is_recomputable() const override { return x.is_stored(); }
  Tensor forward(const Tensor& input) {
    x = input;
    return square(input.detach());
  }
  Tensor recompute() const override { return ++remade, square(x.value().detach()); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {dy * 2.0 * x.value()}; }
};

struct Taking final : Op {  // y = x³; backward overwrites its saved tensor if allowed
  Saved x;
  static inline bool in_place = false;
  const char* name() const override { return "taking"; }
  Tensor forward(const Tensor& input) {
    x = (input.detach() * 1.0).detach();  // a copy that backward may overwrite
    const Tensor t = input.detach();
    return (t * t * t).detach();
  }
  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    const Tensor t = x.take(needs_grad);
    Tensor dx = reuse_or_empty(t);
    in_place = dx.storage() == t.storage();
    return {dx.copy_(dy * 3.0 * square(t))};
  }
};

}  // namespace op

namespace {

using testing::has;
using testing::message_of;
using List = std::vector<double>;

List numbers(const Tensor& x) { return x.to_vector<double>(); }
std::int64_t live() { return memory::usage().live_bytes; }
Tensor cheap(const Tensor& x) { return apply(op::CheapSquare{}, x); }

}  // namespace

TEST_CASE("a cheap output is not stored, but recomputed once per use") {
  const Tensor x = full({1000}, 3, Dtype::f64).requires_grad_();
  const std::int64_t before = live();
  const Tensor z = sum(exp(cheap(x)) * 0.0 + square(cheap(x)));  // x⁴; square saves its input
  // exp saves its output, and nothing saves x².
  CHECK(live() <= before + 8000 + 64);
  op::CheapSquare::remade = 0;
  z.backward();
  CHECK(op::CheapSquare::remade == 1);
  CHECK(numbers(x.grad())[0] == 4 * 27);
}

TEST_CASE("a chain of cheap ops recomputes each value at most once") {
  const Tensor x = full({1}, 0.5, Dtype::f64).requires_grad_();
  Tensor y = x;
  for (int i = 0; i < 100; ++i) y = cheap(y);
  op::CheapSquare::remade = 0;
  y.backward();
  CHECK(op::CheapSquare::remade <= 100);  // 4950 if each use recomputed the entire chain
}

TEST_CASE("a recomputed value stays connected to the graph") {
  const Tensor x = full({1}, 2, Dtype::f64).requires_grad_();
  const Tensor y = square(cheap(x));  // x⁴
  const Tensor d = grad({y}, {x}, {}, {.create_graph = true})[0];
  CHECK(d.item() == 32);
  CHECK(grad(d, x).item() == 48);
}

TEST_CASE("recomputing through a freed node throws an error that suggests keep_graph") {
  const Tensor x = full({1}, 2, Dtype::f64).requires_grad_();
  const Tensor h = cheap(x);
  const Tensor one = square(h), two = square(h);
  one.backward();
  const std::string message = message_of<GraphError>([&] { two.backward(); });
  CHECK(has(message, "cheap_square"));
  CHECK(has(message, "keep_graph"));
}

TEST_CASE("a saved tensor has its shape and dtype, whether stored or recomputed") {
  const Tensor x = full({3, 2}, 2, Dtype::f64).requires_grad_();
  for (const Saved& saved : {Saved(x), Saved(cheap(x))}) {
    CHECK(saved.defined());
    CHECK(saved.shape() == Shape{3, 2});
    CHECK(saved.dtype() == Dtype::f64);
    CHECK(saved.value().shape() == Shape{3, 2});
  }
  CHECK(!Saved().defined());
  CHECK(!Saved(Tensor()).defined());
  CHECK(!Saved(Tensor()).value().defined());
}

TEST_CASE("only the last backward may overwrite a saved buffer") {
  const Tensor x = full({2}, 2, Dtype::f64).requires_grad_();
  const Tensor y = sum(apply(op::Taking{}, x));
  y.backward({.keep_graph = true});
  CHECK(!op::Taking::in_place);
  y.backward();
  CHECK(op::Taking::in_place);
  CHECK(numbers(x.grad()) == List{24, 24});
}

TEST_CASE("an error about a changed saved value locates the write") {
  Tensor x = full({2}, 2, Dtype::f64);
  const Saved saved(x);
  x.fill_(1);
  const std::string message = message_of<GraphError>([&] { (void)saved.value(); });
  CHECK(has(message, "[2]"));
  CHECK(has(message, "test_saved.cpp"));
}

}  // namespace gradus::testing::test_saved
