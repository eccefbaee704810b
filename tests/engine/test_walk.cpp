#include "gradus/engine/grad_mode.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"

namespace gradus::testing::test_walk {
namespace {

/// One visit per path would take 2⁶⁰ visits.
TEST_CASE("backward visits each node of a deep diamond once") {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 60; ++i) y = y * 0.5 + y * 0.5;
  y.backward();
  expect(numbers(x.grad()) == Numbers{1}, "the gradient through 60 diamonds");
}

/// The branch that grad() must not visit throws if visited.
TEST_CASE("grad() does not visit branches that do not lead to its inputs") {
  const Tensor x = leaf({2}), z = leaf({3});
  const Tensor dead = custom(z * 1.0, [](const Tensor&) -> Gradients {
    throw std::runtime_error("visited without need");
  });
  expect(grad(x * dead, x).item() == 3, "gradient of one factor");
}

TEST_CASE("grad() calls no hook of an output that does not depend on its inputs") {
  const Tensor x = leaf({2}), z = leaf({3});
  const Tensor one = x * 2.0, other = z * 2.0;
  bool called = false;
  other.register_hook([&](const Tensor&) -> Tensor { return called = true, Tensor(); });
  expect(grad({one, other}, {x})[0].item() == 2,
         "gradient of two outputs with respect to one leaf");
  expect(!called, "the hook of an output without a path does not run");
}

/// The op returns no gradient, so the producer of its input is not visited.
TEST_CASE("backward stops where an op returns no gradient") {
  const Tensor x = leaf({2}), w = leaf({5});
  int visits = 0;
  const Tensor inner =
      custom(x * 1.0, [&](const Tensor& dy) -> Gradients { return ++visits, Gradients{dy}; });
  const Tensor outer = custom(inner, [](const Tensor&) -> Gradients { return {Gradient{}}; });
  (outer + w).backward();
  expect(visits == 0 && !x.grad().defined(), "the pass stops at a missing gradient");
  expect(numbers(w.grad()) == Numbers{1}, "the other term gets its gradient");
  const Tensor direct = custom(x, [](const Tensor&) -> Gradients { return {Gradient{}}; });
  (direct + w * 1.0).backward();
  expect(!x.grad().defined(), "a leaf without a gradient has no grad");
  const Tensor silent = custom(x, [](const Tensor&) -> Gradients { return {Gradient{}}; });
  expect_error<GraphError>("no output depends on an input", [&] { grad(silent, x); });
  const std::vector<Tensor> both = grad({x * w}, {w, x});
  expect(numbers(both[0]) == Numbers{2} && numbers(both[1]) == Numbers{5},
         "one gradient for each input");
}

TEST_CASE("an op with 70 inputs returns a separate gradient for each") {
  std::vector<Tensor> x;
  for (int k = 0; k < 70; ++k) x.push_back(leaf({static_cast<double>(k)}));
  const auto all = [&] { return apply(op::Many{}, std::span<const Tensor>(x)); };
  all().backward();
  for (int k = 0; k < 70; ++k)
    expect(numbers(x[static_cast<std::size_t>(k)].grad()) == Numbers{k + 1.0},
           "each of 70 inputs gets its gradient");
  for (const std::size_t only : {0u, 1u, 62u, 63u, 64u, 65u, 69u}) {
    expect(grad(all(), x[only]).item() == static_cast<double>(only + 1),
           "the gradient of one of 70 inputs");
    for (std::size_t k = 0; k < 70; ++k)
      expect(op::Many::wanted[k] == (k == only), "needs_grad is true for this input only");
  }
  for (const std::size_t frozen : {0u, 63u, 64u, 66u}) x[frozen].requires_grad_(false);
  for (Tensor& each : x) each.set_grad({});
  all().backward();
  for (std::size_t k = 0; k < 70; ++k) {
    const bool has = k != 0 && k != 63 && k != 64 && k != 66;
    expect(x[k].grad().defined() == has, "a frozen input gets no gradient");
    expect(!has || x[k].grad().item() == static_cast<double>(k + 1),
           "the other inputs get their gradients");
  }
}

TEST_CASE("retain_grad stores the gradient after its hooks, and hooks store no gradient") {
  const Tensor x = leaf({2});
  x.retain_grad();
  const Tensor h = x * 3.0, other = h * 1.0;
  h.register_hook([](const Tensor&) { return Tensor(); });
  other.retain_grad();
  (other * 2.0).backward();
  expect(numbers(x.grad()) == Numbers{6}, "retain_grad on a leaf does not double its gradient");
  expect(!h.grad().defined(), "a hook stores no gradient");
  expect(numbers(other.grad()) == Numbers{2}, "a tensor with retain_grad has its gradient");
  const Tensor hooked = x * 1.0;
  hooked.retain_grad();
  hooked.register_hook([](const Tensor& dy) { return dy * 5.0; });
  (hooked * 2.0).backward();
  expect(numbers(hooked.grad()) == Numbers{10},
         "the retained gradient includes the changes of all hooks");
}

TEST_CASE("backward releases used nodes and their operations") {
  const Tensor x = leaf({1});
  const auto token = std::make_shared<int>(1);
  Tensor loss;
  {
    const Tensor h = custom(x, [token](const Tensor& dy) { return Gradients{dy}; });
    h.register_hook(
        // The node keeps the hook and thus `token` alive, but the op does not.
        [token](const Tensor&) { return Tensor(); });
    loss = h * 2.0;
  }
  const auto other = [&] { return custom(x, [token](const Tensor& dy) { return Gradients{dy}; }); };
  const Tensor alone = other();
  loss.backward();
  alone.backward();
  expect(token.use_count() == 1, "used nodes release their inputs and their op");
  Tensor kept = other();
  kept.backward({.keep_graph = true});
  expect(token.use_count() == 2, "kept nodes keep their op");
  {
    const Tensor h = custom(x, [](const Tensor& dy) { return Gradients{dy}; });
    h.register_hook([token](const Tensor&) { return Tensor(); });
    loss = h * 3.0;
  }
  const Tensor d = grad(loss, x);
  expect(token.use_count() == 2 && d.item() == 3, "grad() releases nodes, too");
}

/// The inner pass frees nodes that the outer pass still lists, and drops their last handle.
TEST_CASE("a hook may run backward on nodes that the outer pass still lists") {
  const Tensor x = leaf({1}), w = leaf({1});
  Tensor inner = custom(w * 2.0, [](const Tensor& dy) { return Gradients{dy}; }) * 3.0;
  const Tensor no_way = custom(inner, [](const Tensor&) -> Gradients { return {Gradient{}}; });
  const Tensor y = x * 5.0;
  y.register_hook([&inner](const Tensor&) {
    inner.backward();
    inner = Tensor();
    return Tensor();
  });
  const Tensor loss = y + no_way;
  loss.backward();
  expect(numbers(x.grad()) == Numbers{5} && numbers(w.grad()) == Numbers{6},
         "both passes reach the leaves");
  Tensor after = x * 7.0;
  after.backward();
  expect(numbers(x.grad()) == Numbers{12}, "the next pass reaches the leaf");
}

TEST_CASE("nodes that a nested backward released are freed after the outer backward") {
  const Tensor x = leaf({1}), w = leaf({1});
  const auto token = std::make_shared<int>(1);
  Tensor z;
  {
    const Tensor h = custom(w, [](const Tensor& dy) { return Gradients{dy}; });
    h.register_hook([token](const Tensor&) { return Tensor(); });
    z = h * 2.0;
  }
  const Tensor y = x * 5.0;
  y.register_hook([&z](const Tensor&) { return z.backward(), Tensor(); });
  y.backward();
  expect(token.use_count() == 1 && numbers(w.grad()) == Numbers{2},
         "a nested pass releases its nodes");
}

TEST_CASE("accumulated leaf gradients are contiguous and outside the graph") {
  const Tensor x = leaf({1, 2, 3, 4}), h = leaf({2, 2, 2, 2});
  mean(x).backward();
  expect(x.grad().is_contiguous() && numbers(x.grad()) == Numbers(4, 0.25),
         "an expanded gradient is packed");
  const Tensor z = leaf({1, 1, 1, 1});
  z.register_hook([&](const Tensor& dy) {
    const GradMode on(true);
    return dy * h;
  });
  sum(z * 1.0).backward();
  expect(!z.grad().requires_grad() && numbers(z.grad()) == Numbers(4, 2.0),
         "the gradient is detached from the hook's operations");
}

TEST_CASE("a leaf that is frozen after forward gets no gradient") {
  Tensor x = leaf({3});
  const Tensor y = x * 2.0, z = y * 2.0;
  x.requires_grad_(false);
  z.backward();
  expect(!x.grad().defined() && !y.grad().defined() && !z.grad().defined(),
         "no leaf gets a gradient");
  x.requires_grad_(true);
  Tensor w = leaf({4});
  w.requires_grad_(false);
  const Tensor product = x * w;
  w.requires_grad_(true);
  product.backward();
  expect(numbers(x.grad()) == Numbers{4} && !w.grad().defined(),
         "a leaf that was frozen in forward gets no gradient");
}

}  // namespace
}  // namespace gradus::testing::test_walk
