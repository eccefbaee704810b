// Fails the k-th allocation of every op and layer, for each k. Afterwards memory must be freed,
// gradients must be unchanged, and the next call must produce the same bits.
#include <new>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/memory.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/random.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/failing_memory.h"
#include "gradus/tests/support/registry_run.h"

namespace gradus::testing::test_allocation_failures {
namespace {

struct Pass {
  Numbers y;
  std::vector<Numbers> dx;
  bool operator==(const Pass&) const = default;
};

Inputs leaves_of(const Sample& sample) {
  const std::vector<bool> wanted = wanted_inputs(sample);
  Inputs x;
  for (std::size_t k = 0; k < sample.inputs.size(); ++k) {
    x.push_back(sample.inputs[k].clone());
    if (wanted[k]) x.back().requires_grad_();
  }
  return x;
}

void run_pass(const Sample& sample, const Inputs& x, const Tensor& dy, Numbers* y) {
  Generator own(3);
  const GeneratorScope scope(own);
  const Tensor out = sample.f(x);
  if (y) *y = numbers(out);
  if (out.requires_grad()) backward({out}, {dy});
}

Pass result_of(const Sample& sample, const Inputs& x, const Tensor& dy) {
  Pass pass;
  run_pass(sample, x, dy, &pass.y);
  for (const Tensor& each : x) {
    pass.dx.push_back(each.grad().defined() ? numbers(each.grad()) : Numbers());
    if (each.requires_grad()) Tensor(each).set_grad({});
  }
  return pass;
}

bool same(const Pass& a, const Pass& b) {
  const auto equal = [](const Numbers& p, const Numbers& q) {
    if (p.size() != q.size()) return false;
    for (std::size_t i = 0; i < p.size(); ++i)
      if (!(p[i] == q[i] || (p[i] != p[i] && q[i] != q[i]))) return false;
    return true;
  };
  if (!equal(a.y, b.y) || a.dx.size() != b.dx.size()) return false;
  for (std::size_t k = 0; k < a.dx.size(); ++k)
    if (!equal(a.dx[k], b.dx[k])) return false;
  return true;
}

/// Fails each allocation of a sample's pass. Even ones run with gradients from an earlier pass.
/// Returns a complaint, or "" and adds to `count`.
std::string check_failures(const Sample& sample, std::int64_t& count) {
  const Inputs x = leaves_of(sample);
  Tensor dy;
  {
    Generator own(3);
    const GeneratorScope scope(own);
    dy = upstream_for(sample.f(x).detach());
  }
  const Pass right = result_of(sample, x, dy);
  const auto set_grads = [&](bool present) {
    for (const Tensor& each : x)
      if (each.requires_grad())
        Tensor(each).set_grad(present ? Tensor::empty_like(each).fill_(0.25) : Tensor());
  };
  for (int k = 1;; ++k) {
    const std::string at = "allocation " + std::to_string(k) + ": ";
    const bool accumulates = k % 2 == 0;
    set_grads(accumulates);
    const std::int64_t bytes = memory::usage().live_bytes, objects = live_objects();
    bool failed = false, thrown = false;
    {
      const FailAt fail(k);
      try {
        run_pass(sample, x, dy, nullptr);
      } catch (const MemoryError&) {
        thrown = true;
      } catch (const std::bad_alloc&) {
        thrown = true;
      }
      failed = fail.failed();
    }
    if (thrown) {
      if (memory::usage().live_bytes != bytes) return at + "tensor memory was not freed";
      if (live_objects() != objects) return at + "objects were not deleted";
      for (const Tensor& each : x) {
        if (each.grad().defined() != (accumulates && each.requires_grad()))
          return at + "a leaf has another gradient after the failure";
        if (!each.grad().defined()) continue;
        for (const double value : numbers(each.grad()))
          if (value != 0.25) return at + "a gradient has changed";
      }
      ++count;
    }
    set_grads(false);
    if (!same(result_of(sample, x, dy), right)) return at + "the next run gives other bits";
    if (!failed) return "";
  }
}

void check_all() {
  int samples = 0;
  std::int64_t count = 0;
  for (const Sample& sample : all_samples()) {
    if (sample.large) continue;
    INFO(sample.op << ": " << sample.what);
    CHECK(check_failures(sample, count) == "");
    ++samples;
  }
  CHECK(samples > 100);
  WARN(count << " failed allocations in " << samples << " samples");
}

}  // namespace

TEST_CASE("a failed allocation in any sample leaves memory and gradients unchanged", "[slow]") {
  check_all();
}

TEST_CASE("a failed allocation in any thread of a loop reaches the caller") {
  const int before = num_threads();
  set_num_threads(4);
  const auto loop = [](std::vector<std::int64_t>& sums) {
    parallel_for(64, 1, [&](std::int64_t begin, std::int64_t) {
      const std::vector<std::int64_t> own(100, begin);
      sums[static_cast<std::size_t>(begin)] = own.back();
    });
  };
  std::vector<std::int64_t> right(64), sums(64);
  loop(right);  // starts the threads
  for (int k = 1; counts_new && k <= 64; ++k) {
    bool thrown = false;
    {
      const FailAt fail(k);
      try {
        loop(sums);
      } catch (const std::bad_alloc&) {
        thrown = true;
      }
    }
    REQUIRE(thrown);
  }
  loop(sums);
  CHECK(sums == right);
  set_num_threads(before);
}

TEST_CASE("a loop runs without new threads if memory runs out while they start") {
  const int before = num_threads();
  set_num_threads(7);
  std::vector<int> visited(64);
  {
    const FailAt fail(1, FailAt::from_then_on);
    parallel_for(64, 1, [&](std::int64_t begin, std::int64_t) {
      visited[static_cast<std::size_t>(begin)] = 1;
    });
  }
  CHECK(visited == std::vector<int>(64, 1));
  set_num_threads(before);
}

}  // namespace gradus::testing::test_allocation_failures
