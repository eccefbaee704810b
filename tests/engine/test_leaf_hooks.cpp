// Hooks of leaves: when they run, how to remove them, and threads that share a leaf.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "gradus/base/memory.h"
#include "gradus/engine/apply.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/node.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/support/catch.h"

namespace gradus {
namespace {

Tensor leaf(double value) { return tensor({value}, Dtype::f64).requires_grad_(); }

struct First final : Op {  // y = a, without a gradient for b
  const char* name() const override { return "first"; }
  Tensor forward(const Tensor& a, const Tensor&) { return a * 1.0; }
  Gradients backward(const Tensor& dy, const Wanted&) override { return {dy, Gradient{}}; }
};

}  // namespace

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
  CHECK(memory::usage().peak_bytes - before < 4 * kBytes);  // of 12: one, and room to compute it
}

TEST_CASE("a hook sees the entire gradient of a leaf that several operations use") {
  const Tensor x = leaf(3);
  std::vector<double> seen;
  x.register_post_accumulate_hook([&](Tensor& grad) { seen.push_back(grad.item()); });
  (x * x + x * 10.0).backward();
  CHECK(seen == std::vector<double>{16});
  backward({x, x * 2.0, x});  // the leaf is an output, too
  CHECK(seen == std::vector<double>{16, 20});
  x.backward();
  CHECK(seen == std::vector<double>{16, 20, 21});
}

TEST_CASE("a leaf hook runs even if one use of the leaf gets no gradient") {
  const Tensor x = leaf(3);
  double seen = 0;
  x.register_post_accumulate_hook([&](Tensor& grad) { seen = grad.item(); });
  apply(First{}, x * 5.0, x * 7.0).backward();
  CHECK(seen == 5);
}

TEST_CASE("a post-accumulate hook sees the gradient that register_hook returned") {
  const Tensor x = leaf(3);
  double seen = 0;
  x.register_hook([](const Tensor& dy) { return dy * 100.0; });
  x.register_post_accumulate_hook([&](Tensor& grad) { seen = grad.item(); });
  (x * 2.0).backward();
  CHECK(seen == 200);
}

TEST_CASE("a hook records operations if the caller of backward does") {
  const Tensor x = leaf(3);
  bool records = false;
  x.register_post_accumulate_hook([&](Tensor&) { records = GradMode::enabled(); });
  (x * 2.0).backward();
  CHECK(records);
}

TEST_CASE("a removed hook does not run, and its captures are freed") {
  const Tensor x = leaf(3);
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
  const Tensor x = leaf(3);
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
  const Tensor x = leaf(3);
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

}  // namespace gradus
