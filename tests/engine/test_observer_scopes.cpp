// Which thread an observer hears, and observers that are detached in any order.
#include <atomic>
#include <memory>
#include <thread>

#include "gradus/base/parallel.h"
#include "gradus/engine/observer.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/tests/base/threads.h"
#include "gradus/tests/support/catch.h"

namespace gradus {
namespace {

struct Counts : Observer {
  std::atomic<int> begun{0};
  void op_begin(const Op&, std::span<const Tensor* const>) override { ++begun; }
};

}  // namespace

TEST_CASE("an observer hears nothing of what runs inside a parallel loop") {
  for (const int threads : {1, 2}) {
    const tests::Threads team(threads);
    Counts counts;
    const ObserverScope scope(counts);
    const Tensor x = ones({2});
    const int before = counts.begun;
    parallel_for(8, 1, [&](std::int64_t, std::int64_t) { static_cast<void>(x * 2.0); });
    parallel_for(1, 1, [&](std::int64_t, std::int64_t) { static_cast<void>(x * 2.0); });
    CHECK(counts.begun == before);
    static_cast<void>(x * 2.0);
    CHECK(counts.begun == before + 1);
  }
}

TEST_CASE("scopes of observers may end in the order in which they began") {
  Counts first, second;
  auto a = std::make_unique<ObserverScope>(first);
  auto b = std::make_unique<ObserverScope>(second);
  const Tensor x = ones({2});
  const int before_first = first.begun, before_second = second.begun;
  a.reset();
  static_cast<void>(x * 2.0);
  CHECK(first.begun == before_first);
  CHECK(second.begun == before_second + 1);
  b.reset();
  static_cast<void>(x * 2.0);
  CHECK(second.begun == before_second + 1);
}

}  // namespace gradus
