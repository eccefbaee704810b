// Checks which PyTorch idioms work, throw, or do not compile.
#include <cmath>
#include <thread>
#include <type_traits>

#include "gradus/engine/apply.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/numbers.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_members {
namespace {

Tensor leaf(std::initializer_list<double> values) {
  return tensor(values, Dtype::f64).requires_grad_();
}

// x[0] = y must not compile: it would assign to a temporary.
static_assert(std::is_assignable_v<Tensor&, Tensor>);
static_assert(!std::is_assignable_v<Tensor, Tensor>);
static_assert(!std::is_assignable_v<Tensor, const Tensor&>);

}  // namespace

TEST_CASE("clone, contiguous, view, reshape and to keep the graph for any layout") {
  const Tensor w = tensor({{1, 2, 3}, {4, 5, 6}}, Dtype::f64).requires_grad_();
  const Tensor factors = tensor({{1, 10}, {100, 1000}, {1e4, 1e5}}, Dtype::f64);
  for (const Tensor& x :
       {w.t(), w.t().contiguous(), w.t().clone(), w.t().clone().view({3, 2}),
        w.t().reshape({-1}).reshape({3, 2}), w.to(Dtype::f32).to(Dtype::f64).transpose(0, 1)}) {
    REQUIRE(x.requires_grad());
    const Tensor dw = grad((x * factors).sum(), w);
    CHECK(numbers(dw) == Numbers{1, 100, 1e4, 10, 1000, 1e5});
  }
  CHECK(w.clone().storage() != w.storage());
  CHECK(w.contiguous().storage() == w.storage());
}

TEST_CASE("members equal the free functions of the same name") {
  const Tensor x = tensor({{1, -2, 3}, {-4, 5, 6}}, Dtype::f64);
  CHECK(x.sum().item<int>() == 9);
  CHECK(numbers(x.sum(0)) == Numbers{-3, 3, 9});
  CHECK(numbers(sum(x, {0, 1})) == Numbers{9});
  CHECK(x.mean(-1, true).shape() == Shape{2, 1});
  CHECK(numbers(x.argmax(1)) == Numbers{2, 2});
  CHECK(numbers(x.relu().max(1)) == Numbers{3, 6});
  CHECK(numbers(x.matmul(x.t()).select(0, 1)) == Numbers{4, 77});
  CHECK(numbers(x.slice(1, 1, 3).flatten()) == Numbers{-2, 3, 5, 6});
  CHECK(numbers((x == 5.0).to(Dtype::f64)) == Numbers{0, 0, 0, 0, 1, 0});
  CHECK(numbers((x != x).to(Dtype::f64)) == Numbers(6, 0.0));
}

TEST_CASE("an i64 index selects rows, and a bool index selects elements") {
  const Tensor x = tensor({{1, 2}, {3, 4}, {5, 6}}, Dtype::f64).requires_grad_();
  const Tensor rows = x[indices({2, 0, 2})];
  CHECK(numbers(rows) == Numbers{5, 6, 1, 2, 5, 6});
  CHECK(numbers(grad(rows.sum(), x)) == Numbers{1, 1, 0, 0, 2, 2});
  CHECK(x[indices({1, 1, 0, 2}).reshape({2, 2})].shape() == Shape{2, 2, 2});
  CHECK(numbers(x[x > 2.5]) == Numbers{3, 4, 5, 6});
  CHECK(numbers(x[x.detach().sum(1) > 4]) == Numbers{3, 4, 5, 6});
  CHECK(numbers(x[x > 9.0]).empty());
  CHECK_REFUSES(ShapeError, x[tensor({1, 0}) > 0.5], "[]", "[2]");
  CHECK_REFUSES(ShapeError, x[ones({3, 2, 1}) > 0.5], "[]", "[3, 2, 1]");
}

TEST_CASE("minus-assign writes to a parameter under NoGrad and throws otherwise") {
  const Tensor parameter = leaf({1, 2});
  Tensor p = parameter;  // as in `for (auto& p : net.parameters()) p.tensor -= …`
  {
    const NoGrad off;
    p -= 0.5 * ones({2}, Dtype::f64);
    p *= 2.0;
  }
  CHECK(numbers(parameter) == Numbers{1, 3});
  CHECK(p.requires_grad());
  CHECK_REFUSES(GraphError, p -= 1.0, "[2]");
  Tensor y = p * 2.0;
  const Tensor before = y;
  y += 1.0;
  CHECK(numbers(before) == Numbers{2, 6});
  CHECK(numbers(y) == Numbers{3, 7});
}

TEST_CASE("x + y reuses an unshared temporary y, and no other tensor") {
  const Tensor x = leaf({1, 2}), y = leaf({10, 20});
  Tensor given = y.clone();
  const void* buffer = given.data<double>();
  const Tensor sum = x + std::move(given);
  CHECK(sum.data<double>() == buffer);
  CHECK(numbers(sum) == Numbers{11, 22});
  CHECK(numbers(grad((sum * sum).sum(), x)) == Numbers{22, 44});
  CHECK(numbers(x + y.view({2})) == Numbers{11, 22});  // must not overwrite y
  CHECK(numbers(y) == Numbers{10, 20});
  const Tensor z = x + tanh(y);  // tanh saves its result
  const Tensor dy = grad(z.sum(), y);
  CHECK(std::abs(numbers(dy)[0] - (1 - std::tanh(10.0) * std::tanh(10.0))) < 1e-15);
  const Tensor row = leaf({1});  // y's buffer is too small for the broadcast result
  CHECK(numbers(x + row.clone()) == Numbers{2, 3});
}

TEST_CASE("grad accepts lists of outputs and inputs") {
  const Tensor x = leaf({2, 3}), w = leaf({5, 7});
  const std::vector<Tensor> d = grad({sum(x * w)}, {x, w});
  REQUIRE(d.size() == 2);
  CHECK(numbers(d[0]) == Numbers{5, 7});
  CHECK(numbers(grad({sum(x * x)}, {x})[0]) == Numbers{4, 6});
  CHECK_REFUSES(GraphError, grad({sum(x)}, {x, ones({2})}), "grad", "[2]", "requires_grad_()");
}

TEST_CASE("mse_loss does not broadcast") {
  CHECK_REFUSES(ShapeError, mse_loss(ones({5, 1}), ones({5})), "mse_loss", "[5, 1]", "[5]");
}

namespace {

/// x² with a backward that cannot be differentiated again.
struct OnceOnly final : Op {
  Saved x;
  const char* name() const override { return "once_only"; }
  Tensor forward(const Tensor& in) {
    x = in;
    Tensor y = Tensor::empty_like(in);
    for (std::int64_t i = 0; i < in.numel(); ++i)
      y.mutable_data<double>()[i] = in.data<double>()[i] * in.data<double>()[i];
    return y;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    Tensor dx = Tensor::empty_like(dy);
    const Tensor in = x.value();
    const std::vector<double> upstream = dy.to_vector<double>();  // dy may be strided
    for (std::int64_t i = 0; i < dy.numel(); ++i)
      dx.mutable_data<double>()[i] =
          2 * in.data<double>()[i] * upstream[static_cast<std::size_t>(i)];
    return {dx};
  }
};

}  // namespace

TEST_CASE("an op that cannot be differentiated twice throws under create_graph") {
  const Tensor x = leaf({2, 3});
  const auto y = [&] { return sum(apply(OnceOnly{}, x) + x * x * x); };
  CHECK(numbers(grad(y(), x)) == Numbers{16, 33});  // 2x + 3x²
  const std::string message = message_of<GraphError>([&] { grad(y(), x, {.create_graph = true}); });
  CHECK(message.find("once_only (node ") == 0);
  CHECK(message.find("cannot be differentiated twice") != std::string::npos);
  CHECK(numbers(grad(sum(floor(x) + x * x), x, {.create_graph = true})) == Numbers{4, 6});
}

TEST_CASE("backward from several threads adds every gradient to a shared leaf") {
  const Tensor w = leaf({1, 1, 1});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) sum(ones({3}, Dtype::f64) * w).backward();
    });
  for (std::thread& each : threads) each.join();
  CHECK(numbers(w.grad()) == Numbers{2000, 2000, 2000});
}

}  // namespace gradus::testing::test_members
