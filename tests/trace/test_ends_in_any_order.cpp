// Traces and watches that end in the order in which they began.
#include <memory>

#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/matmul.h"
#include "gradus/tests/support/catch.h"
#include "gradus/trace/recorder.h"
#include "gradus/trace/watch.h"

namespace gradus {

TEST_CASE("recorders may end in the order in which they began") {
  auto first = std::make_unique<trace::Recorder>(TraceOptions{});
  auto second = std::make_unique<trace::Recorder>(TraceOptions{});
  first.reset();
  CHECK_THROWS_AS(matmul(ones({2, 3}), ones({2, 3})), ShapeError);
  second.reset();
  CHECK_THROWS_AS(matmul(ones({2, 3}), ones({2, 3})), ShapeError);
}

TEST_CASE("watches may end in the order in which they began") {
  auto first = std::make_unique<trace::Watch>();
  auto second = std::make_unique<trace::Watch>();
  first.reset();
  CHECK(trace::Watch::current() == second.get());
  static_cast<void>(ones({2}) * 2.0);
  CHECK(second->events().size() == 1);
  second.reset();
  CHECK(trace::Watch::current() == nullptr);
}

}  // namespace gradus
