// Hooks on gradients, and backward passes that start inside a backward pass.
#include <vector>

#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus {
namespace {

using testing::has;
using testing::message_of;
using List = std::vector<double>;

Tensor leaf(std::initializer_list<double> values) {
  return tensor(values, Dtype::f64).requires_grad_();
}

List numbers(const Tensor& x) { return x.to_vector<double>(); }

}  // namespace

TEST_CASE("a hook sees the complete gradient once") {
  const Tensor x = leaf({2});
  const Tensor y = x * 3.0;
  std::vector<List> seen;
  y.register_hook([&](const Tensor& dy) {
    seen.push_back(numbers(dy));
    return Tensor();
  });
  sum(y * y + y).backward();
  CHECK(seen == std::vector<List>{{13}});
  CHECK(numbers(x.grad()) == List{39});
}

TEST_CASE("the result of each hook replaces the gradient for the next") {
  const Tensor x = leaf({2});
  x.register_hook([](const Tensor& dx) { return dx * 10.0; });
  x.register_hook([](const Tensor& dx) { return dx + 1.0; });
  sum(x * 3.0).backward();
  CHECK(numbers(x.grad()) == List{31});
  CHECK(numbers(grad(sum(x), x)) == List{11});
}

TEST_CASE("a hook result of the wrong shape or type throws") {
  const Tensor x = leaf({1, 2});
  x.register_hook([](const Tensor&) { return zeros({3}, Dtype::f64); });
  const std::string message = message_of<ShapeError>([&] { sum(x).backward(); });
  CHECK(has(message, "[3]"));
  CHECK(has(message, "[2]"));
  CHECK(has(message, "register_hook"));
  const Tensor y = leaf({1, 2});
  y.register_hook([](const Tensor&) { return zeros({2}, Dtype::f32); });
  CHECK_THROWS_AS(sum(y).backward(), DtypeError);
}

TEST_CASE("a hook may add hooks while it runs") {
  const Tensor x = leaf({1});
  int calls = 0;
  x.register_hook([&](const Tensor&) {
    for (int i = 0; i < 9; ++i) x.register_hook([&](const Tensor&) { return ++calls, Tensor(); });
    return Tensor();
  });
  sum(x).backward();
  CHECK(calls == 0);
  sum(x).backward();
  CHECK(calls == 9);
}

TEST_CASE("registering a hook requires a tensor with a gradient") {
  const auto nothing = [](const Tensor&) { return Tensor(); };
  CHECK_THROWS_AS(tensor({1.0}).register_hook(nothing), GraphError);
  const Tensor y = leaf({1}) * 2.0;
  CHECK_THROWS_AS(y.register_post_accumulate_hook([](Tensor&) {}), GraphError);
}

TEST_CASE("a post-accumulate hook runs after accumulation and may clear the gradient") {
  Tensor x = leaf({1}), free = leaf({1});
  std::vector<List> seen;
  x.register_post_accumulate_hook([&](Tensor& g) { seen.push_back(numbers(g)); });
  free.register_post_accumulate_hook([&](Tensor&) { free.set_grad({}); });
  for (int i = 0; i < 2; ++i) sum(x * 2.0 + x + free).backward();
  CHECK(seen == std::vector<List>{{3}, {6}});
  CHECK(!free.grad().defined());
}

TEST_CASE("a hook may run backward on another graph and on the same one") {
  const Tensor x = leaf({2}), other = leaf({5});
  const Tensor y = x * 3.0;
  y.register_hook([&](const Tensor& dy) {
    const GradMode on(true);  // recording is off in a plain walk, and so in its hooks
    sum(other * other).backward();
    return dy * numbers(other.grad())[0];
  });
  sum(y).backward();
  CHECK(numbers(x.grad()) == List{30});

  const Tensor a = leaf({2});
  const Tensor b = a * 3.0, c = b * b;
  c.register_hook([&](const Tensor&) { return grad({b}, {a}, {}, {.keep_graph = true})[0]; });
  sum(c).backward();
  CHECK(numbers(a.grad()) == List{3 * 2 * 6 * 3.0});
}

TEST_CASE("a hook that uses up nodes of the outer backward throws instead of crashing") {
  const Tensor a = leaf({2});
  Tensor b = a;
  for (int i = 0; i < 20; ++i) b = b * 1.0;  // nodes that only the graph keeps alive
  const Tensor c = exp(b);
  c.register_hook([&](const Tensor&) {
    b.backward();
    b = Tensor();
    return Tensor();
  });
  const Tensor end = sum(c);
  CHECK_REFUSES(GraphError, end.backward(), "keep_graph");
  CHECK(numbers(a.grad()) == List{1});
}

TEST_CASE("an exception from a hook reaches the caller, and the next backward starts fresh") {
  const Tensor x = leaf({1});
  bool angry = true;
  x.register_hook([&](const Tensor&) -> Tensor {
    if (angry) fail<ValueError>("no");
    return {};
  });
  CHECK_THROWS_AS(sum(x * 2.0).backward(), ValueError);
  CHECK((x * 2.0).requires_grad());  // recording is on again
  angry = false;
  sum(x * 2.0).backward();
  CHECK(numbers(x.grad()) == List{2});
}

}  // namespace gradus
