#include "gradus/ops/checkpoint.h"

#include <cmath>
#include <stdexcept>
#include <vector>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/memory.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/observer.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/registry_run.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_checkpoint {
namespace {

struct Unit {
  Tensor w;
  Tensor operator()(const Tensor& x) const { return dropout(tanh(matmul(x, w)), 0.5); }
};

struct Outcome {
  Numbers y, dx, dw;
};

Outcome outcome(bool checkpointed) {
  seed(5);
  const Unit unit{values({7, 7}, 1).requires_grad_()};
  const Tensor x = values({3, 7}).requires_grad_();
  const Tensor h = unit(x);
  const Tensor z = checkpointed ? checkpoint(unit, h) : unit(h);
  const Tensor y = unit(z);
  sum(square(y)).backward();
  return {numbers(y), numbers(x.grad()), numbers(unit.w.grad())};
}

struct Counter : Observer {
  int tanhs = 0;
  void on_op_end(const Op& op, std::span<const Tensor* const>, const Tensor&) override {
    tanhs += std::string(op.name()) == "tanh";
  }
};

}  // namespace

TEST_CASE("checkpoint keeps all bits of values and gradients, with dropout and captured leaves") {
  const Outcome with = outcome(true), without = outcome(false);
  CHECK(with.y == without.y);
  CHECK(with.dx == without.dx);
  CHECK(with.dw == without.dw);
}

TEST_CASE("checkpoint keeps only its inputs and recomputes in backward") {
  constexpr std::int64_t kLayers = 16, kRows = 256, kWidth = 64;
  constexpr std::int64_t kBytes = kRows * kWidth * 4;  // size of one activation
  const Tensor w = (values({kWidth, kWidth}) * 0.1).to(Dtype::f32).requires_grad_();
  // Without checkpoints, each layer keeps four activations; with them, one.
  const auto deep = [&](const Tensor& x) { return tanh(matmul(sin(matmul(cos(x), w)), w)); };
  const auto peak = [&](bool checkpointed) {
    Tensor x = zeros({kRows, kWidth}, Dtype::f32).requires_grad_();
    const std::int64_t before = memory::usage().live_bytes;
    memory::reset_peak();
    Tensor h = x;
    for (std::int64_t i = 0; i < kLayers; ++i) h = checkpointed ? checkpoint(deep, h) : deep(h);
    const std::int64_t kept = memory::usage().live_bytes - before;
    sum(h).backward();
    return std::pair(kept, memory::usage().peak_bytes - before);
  };
  const auto [kept, highest] = peak(true);
  const auto [all_kept, all_highest] = peak(false);
  CHECK(kept == kLayers * kBytes);
  CHECK(all_kept >= 3 * kLayers * kBytes);
  // The backward pass needs at most 12 more buffers, for one layer's activations and their
  // gradients.
  CHECK(highest <= (kLayers + 12) * kBytes);
  CHECK(all_highest >= all_kept);
  Counter counter;
  const ObserverScope scope(counter);
  const Tensor y = sum(checkpoint(deep, zeros({2, kWidth}, Dtype::f32)));
  CHECK(counter.tanhs == 1);
  y.backward();
  CHECK(counter.tanhs == 2);
}

TEST_CASE("second derivatives pass through a checkpoint and its captured leaves") {
  const Tensor w = values({5, 5}, 1).requires_grad_();
  const auto f = [&](const Tensor& x) { return tanh(matmul(x, w)); };
  const auto second = [&](bool checkpointed, bool nested) {
    const Tensor x = values({3, 5}).requires_grad_();
    const auto inner = [&](const Tensor& z) { return checkpoint(f, z); };
    const Tensor y = !checkpointed ? f(x) : nested ? checkpoint(inner, x) : checkpoint(f, x);
    const std::vector<Tensor> d = grad({sum(y * y)}, {x, w}, {}, {.create_graph = true});
    const std::vector<Tensor> dd = grad({sum(d[0] * d[0]) + sum(square(d[1]))}, {x, w});
    return std::pair(numbers(dd[0]), numbers(dd[1]));
  };
  const auto right = second(false, false);
  for (const bool nested : {false, true}) {
    const auto found = second(true, nested);
    CHECK(equal_but_for_order(found.first, right.first));
    CHECK(equal_but_for_order(found.second, right.second));
  }
}

TEST_CASE("nested checkpoints with dropout give the same results") {
  const auto run = [](bool outer, bool inner) {
    seed(3);
    const Unit unit{values({5, 5}, 1).requires_grad_()};
    const auto two = [&](const Tensor& x) {
      return dropout(inner ? checkpoint(unit, unit(x)) : unit(unit(x)), 0.25);
    };
    const Tensor x = values({2, 5}).requires_grad_();
    sum(outer ? checkpoint(two, x) : two(x)).backward();
    return std::pair(numbers(x.grad()), numbers(unit.w.grad()));
  };
  const auto right = run(false, false);
  CHECK(run(true, false) == right);
  CHECK(run(false, true) == right);
  CHECK(run(true, true) == right);
}

TEST_CASE("checkpoint computes only needed gradients and records nothing if none is needed") {
  const Tensor frozen = values({5, 5}, 1);
  const auto f = [&](const std::vector<Tensor>& in) { return matmul(in[0], frozen) + in[1]; };
  const Tensor x = values({2, 5}).requires_grad_(), bias = values({5}, 2);
  CHECK(!checkpoint(f, {values({2, 5}), bias}).requires_grad());
  sum(checkpoint(f, {x, bias})).backward();
  CHECK(x.grad().defined());
  CHECK(!bias.grad().defined());
  const NoGrad off;
  CHECK(!checkpoint(f, {x, bias}).requires_grad());
}

TEST_CASE("checkpoint accepts many inputs: undefined, indices, frozen, and captured leaves") {
  const Tensor w = values({5}, 1).requires_grad_(), v = values({5}, 2).requires_grad_();
  std::vector<Tensor> in(70);
  in[0] = values({5}, 3).requires_grad_(), in[69] = values({5}, 4).requires_grad_();
  in[65] = arange(5), in[66] = values({5}, 5);
  std::size_t most = 0;
  const auto f = [&](const std::vector<Tensor>& x) {
    most = std::max(most, x.size());
    return x[0] * w + x[69] * x[66] * v * v;
  };
  sum(checkpoint(f, in)).backward();
  CHECK(most == 70);
  CHECK(numbers(in[0].grad()) == numbers(w));
  CHECK(numbers(w.grad()) == numbers(in[0]));
  CHECK(equal_but_for_order(numbers(in[69].grad()), numbers(in[66] * v * v)));
  CHECK(!in[66].grad().defined());
  // Requests the gradient of only the second of two leaves. The last function returns its leaf
  // unchanged.
  const Tensor dv = grad(sum(checkpoint([&](const Tensor& x) { return x * w * v; }, in[66])), v);
  CHECK(equal_but_for_order(numbers(dv), numbers(in[66] * w)));
  const Tensor dw = grad(sum(checkpoint([&](const Tensor&) { return w; }, in[0]) * 3.0), w);
  CHECK(numbers(dw) == Numbers(5, 3));
}

TEST_CASE("without recording, checkpoint accepts any captured tensor") {
  const Tensor w = values({5}).requires_grad_(), made = square(w);
  const NoGrad off;
  CHECK(numbers(checkpoint([&](const Tensor& x) { return x * made; }, w)) == numbers(w * made));
}

TEST_CASE("checkpoint recomputes with the formulas of its forward pass") {
  const Tensor x = values({2, 5}).requires_grad_(), w = values({3, 5}, 1);
  Counter counter;
  Tensor y;
  {
    const FormulaScope formulas;
    y = checkpoint([&](const Tensor& in) { return tanh(linear(in, w)); }, x);
  }
  struct Linears : Observer {
    int linears = 0;
    void on_op_end(const Op& op, std::span<const Tensor* const>, const Tensor&) override {
      linears += std::string(op.name()) == "linear";
    }
  } watch;
  const ObserverScope scope(watch);
  sum(y).backward();
  CHECK(watch.linears == 0);
}

TEST_CASE("checkpoint rejects captured intermediates and passes exceptions on") {
  const Tensor w = values({5}).requires_grad_(), made = square(w);
  const auto uses = [&](const Tensor& x) { return x * made; };
  const std::string message = message_of<GraphError>([&] {
    checkpoint(uses, values({2, 5}).requires_grad_());
  });
  CHECK(has(message,
            "checkpoint: the function uses a tensor of shape [5] in multiply that square (node "));
  CHECK(has(message, "computed outside the function. Pass the tensor as an input."));
  const auto throws = [](const Tensor&) -> Tensor { throw std::out_of_range("mine"); };
  CHECK_THROWS_AS(checkpoint(throws, w), std::out_of_range);
  int calls = 0;
  const auto changes = [&](const Tensor& x) { return ++calls == 1 ? x * 2.0 : sum(x * 2.0); };
  CHECK_REFUSES(GraphError, sum(checkpoint(changes, w)).backward(), "checkpoint", "[]", "[5]");
  calls = 0;
  const auto other = [&](const Tensor& x) { return to(x, ++calls == 1 ? Dtype::f64 : Dtype::f32); };
  CHECK_REFUSES(GraphError, sum(checkpoint(other, w)).backward(), "checkpoint", "[5]");
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    calls = 0;
    const auto once = [&](const Tensor& x) { return ++calls == 1 ? sum(x) : Tensor(); };
    const Tensor leaf = values({5}).to(dtype).requires_grad_();
    CHECK_REFUSES(GraphError, checkpoint(once, leaf).backward(), "checkpoint", "[]");
  }
  const auto wide = [&](const Tensor& x) { return matmul(x, ones({x.size(1) + 1, 2})); };
  CHECK_THROWS_AS(checkpoint(wide, ones({2, 3})), ShapeError);
  Tensor v = values({5}, 2).requires_grad_();
  const Tensor y = checkpoint([&](const Tensor& x) { return x * v; }, w);
  {
    const NoGrad off;
    v.fill_(1);
  }
  CHECK_REFUSES(GraphError, sum(y).backward(), "written");
}

}  // namespace gradus::testing::test_checkpoint
