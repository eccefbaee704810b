// Fails the k-th allocation of every op and layer, for each k. Afterwards memory must be freed,
// gradients must be unchanged, and the next call must produce the same bits.
#include "gradus/engine/backward.h"
#include "gradus/engine/base/memory.h"
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

/// For each k from `first` to `last` − 1, makes the k-th allocation fail. Stops when a run has
/// fewer than k allocations.
std::string check_failures(const Sample& sample, int first, int last) {
  const Inputs x = leaves_of(sample);
  Tensor dy;
  {
    Generator own(3);
    const GeneratorScope scope(own);
    dy = upstream_for(sample.f(x).detach());
  }
  const Pass right = result_of(sample, x, dy);
  for (int k = first; k < last; ++k) {
    const std::string at = "allocation " + std::to_string(k) + ": ";
    const std::int64_t live = memory::usage().live_bytes;
    bool failed = false;
    {
      const FailAt fail(k);
      try {
        run_pass(sample, x, dy, nullptr);
      } catch (const MemoryError&) {
      }
      failed = fail.failed();
    }
    if (failed)
      for (const Tensor& each : x)
        if (each.grad().defined()) return at + "a leaf has a gradient after the failure";
    for (const Tensor& each : x)
      if (each.requires_grad()) Tensor(each).set_grad({});
    if (memory::usage().live_bytes != live) return at + "memory was not freed";
    if (!same(result_of(sample, x, dy), right)) return at + "the next run gives other bits";
    if (!failed) return "";
  }
  return "";
}

void check_all(int first, int last) {
  std::size_t checked = 0;
  for (const Sample& sample : all_samples()) {
    if (sample.large) continue;
    INFO(sample.op << ": " << sample.what);
    CHECK(check_failures(sample, first, last) == "");
    ++checked;
  }
  CHECK(checked > 100);
}

}  // namespace

TEST_CASE("a failed allocation in any sample leaves memory and gradients unchanged", "[slow]") {
  check_all(1, 33);
}

TEST_CASE("a late failed allocation in any sample leaves memory and gradients unchanged",
          "[.nightly]") {
  check_all(33, 2000);
}

}  // namespace gradus::testing::test_allocation_failures
