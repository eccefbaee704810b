#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "gradus/engine/apply.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/base/memory.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_hooks {
namespace {

using testing::has;
using testing::leaf;
using testing::message_of;
using testing::numbers;
using List = std::vector<double>;

struct First final : Op {  // y = a, without a gradient for b
  const char* name() const override { return "first"; }
  Tensor forward(const Tensor& a, const Tensor&) { return a * 1.0; }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {dy, Gradient{}}; }
};

}  // namespace

TEST_CASE("a hook receives the complete gradient once") {
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

TEST_CASE("a post-accumulate hook runs after accumulation and may clear the gradient") {
  Tensor x = leaf({1}), free = leaf({1});
  std::vector<List> seen;
  x.register_post_accumulate_hook([&](Tensor& g) { seen.push_back(numbers(g)); });
  free.register_post_accumulate_hook([&](Tensor&) { free.set_grad({}); });
  for (int i = 0; i < 2; ++i) sum(x * 2.0 + x + free).backward();
  CHECK(seen == std::vector<List>{{3}, {6}});
  CHECK(!free.grad().defined());
}

TEST_CASE("a hook may run backward on another graph and on the same graph") {
  const Tensor x = leaf({2}), other = leaf({5});
  const Tensor y = x * 3.0;
  y.register_hook([&](const Tensor& dy) {
    const GradMode on(true);  // hooks run without recording unless create_graph is set
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

TEST_CASE("a hook that frees nodes of the outer backward causes an error, not a crash") {
  const Tensor a = leaf({2});
  Tensor b = a;
  for (int i = 0; i < 20; ++i) b = b * 1.0;  // only the graph keeps these nodes alive
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

TEST_CASE("an exception from a hook reaches the caller, and the next backward is unaffected") {
  const Tensor x = leaf({1});
  bool angry = true;
  x.register_hook([&](const Tensor&) -> Tensor {
    if (angry) fail<ValueError>("no");
    return {};
  });
  CHECK_THROWS_AS(sum(x * 2.0).backward(), ValueError);
  CHECK((x * 2.0).requires_grad());  // recording is enabled
  angry = false;
  sum(x * 2.0).backward();
  CHECK(numbers(x.grad()) == List{2});
}

TEST_CASE("hooks that free gradients early bound the memory of backward") {
  constexpr int kLayers = 12;
  constexpr std::int64_t kWidth = 256, kBytes = kWidth * kWidth * 4;
  std::vector<Tensor> weights;
  for (int i = 0; i < kLayers; ++i) {
    weights.push_back(full({kWidth, kWidth}, 0.001).requires_grad_());
    weights.back().register_post_accumulate_hook([](Tensor& grad) { grad = Tensor(); });
  }
  Tensor y = ones({1, kWidth});
  for (const Tensor& w : weights) y = matmul(y, w);
  const Tensor loss = sum(y);
  const std::int64_t before = memory::usage().live_bytes;
  memory::reset_peak();
  loss.backward();
  CHECK(memory::usage().peak_bytes - before < 4 * kBytes);  // one of 12 gradients, and temporaries
}

TEST_CASE("a hook receives the entire gradient of a leaf that several operations use") {
  const Tensor x = leaf({3});
  std::vector<double> seen;
  x.register_post_accumulate_hook([&](Tensor& grad) { seen.push_back(grad.item()); });
  (x * x + x * 10.0).backward();
  CHECK(seen == std::vector<double>{16});
  backward({x, x * 2.0, x});  // the leaf is also an output
  CHECK(seen == std::vector<double>{16, 20});
  x.backward();
  CHECK(seen == std::vector<double>{16, 20, 21});
}

TEST_CASE("a leaf hook runs even if one use of the leaf gets no gradient") {
  const Tensor x = leaf({3});
  double seen = 0;
  x.register_post_accumulate_hook([&](Tensor& grad) { seen = grad.item(); });
  apply(First{}, x * 5.0, x * 7.0).backward();
  CHECK(seen == 5);
}

TEST_CASE("a post-accumulate hook receives the gradient that a register_hook hook returned") {
  const Tensor x = leaf({3});
  double seen = 0;
  x.register_hook([](const Tensor& dy) { return dy * 100.0; });
  x.register_post_accumulate_hook([&](Tensor& grad) { seen = grad.item(); });
  (x * 2.0).backward();
  CHECK(seen == 200);
}

TEST_CASE("a hook records operations if recording is on in the caller of backward") {
  const Tensor x = leaf({3});
  bool records = false;
  x.register_post_accumulate_hook([&](Tensor&) { records = GradMode::enabled(); });
  (x * 2.0).backward();
  CHECK(records);
}

TEST_CASE("a removed hook does not run, and its captures are freed") {
  const Tensor x = leaf({3});
  int first = 0, second = 0;
  const auto captured = std::make_shared<int>(0);
  HookHandle handle = x.register_post_accumulate_hook([&first, captured](Tensor&) { ++first; });
  x.register_post_accumulate_hook([&](Tensor&) { ++second; });
  (x * 1.0).backward();
  handle.remove();
  handle.remove();
  CHECK(captured.use_count() == 1);
  (x * 1.0).backward();
  CHECK(first == 1);
  CHECK(second == 2);
}

TEST_CASE("hooks may remove themselves and each other while they run") {
  const Tensor x = leaf({3});
  std::vector<HookHandle> handles(3);
  std::vector<int> runs(3, 0);
  for (std::size_t i = 0; i < 3; ++i)
    handles[i] = x.register_post_accumulate_hook([&, i](Tensor&) {
      ++runs[i];
      if (i == 0) handles[0].remove(), handles[1].remove();
    });
  (x * 1.0).backward();
  (x * 1.0).backward();
  CHECK(runs == std::vector<int>{1, 0, 2});
}

TEST_CASE("no other thread changes a gradient while a hook reads it") {
  const Tensor x = leaf({3});
  std::atomic<int> changed{0}, inside{0}, overlaps{0};
  x.register_post_accumulate_hook([&](Tensor& grad) {
    if (++inside > 1) ++overlaps;
    const double before = grad.item();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (grad.item() != before) ++changed;
    --inside;
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { (x * 2.0).backward(); });
  for (std::thread& each : threads) each.join();
  CHECK(changed == 0);
  CHECK(overlaps == 0);
  CHECK(x.grad().item() == 6);
}

}  // namespace gradus::testing::test_hooks
