// Linear maps of vectors without elements.
#include "gradus/engine/backward.h"
#include "gradus/ops/create.h"
#include "gradus/ops/linear.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/support/catch.h"

namespace gradus {

TEST_CASE("a linear map of width 0 can be differentiated twice") {
  for (const auto& [out, in] : {std::pair{3, 0}, {0, 3}, {0, 0}}) {
    const Tensor w = ones({out, in}).requires_grad_(), x = ones({2, in}).requires_grad_();
    const Tensor y = sum(linear(x, w));
    const auto first = grad({y}, {w, x}, {.create_graph = true});
    CHECK(first[0].shape() == w.shape());
    CHECK(first[1].shape() == x.shape());
    const auto second = grad({sum(first[0]) + sum(first[1])}, {w, x}, {.allow_unused = true});
    if (second[0].defined()) CHECK(second[0].shape() == w.shape());
    if (second[1].defined()) CHECK(second[1].shape() == x.shape());
  }
}

}  // namespace gradus
