// Moved operands: their buffers may be reused, and nobody reads them afterwards.
#include <stdexcept>
#include <utility>
#include <vector>

#include "gradus/engine/node.h"
#include "gradus/engine/observer.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/dropout.h"
#include "gradus/tests/support/catch.h"

namespace gradus {
namespace {

using Values = std::vector<float>;

}  // namespace

TEST_CASE("a moved operand never shows the values of the sum") {
  Tensor b = full({3}, 5.0);
  const Tensor y = ones({3}) + std::move(b);
  CHECK(y.to_vector<float>() == Values{6, 6, 6});
  if (b.defined()) CHECK(b.to_vector<float>() == Values{5, 5, 5});  // NOLINT: after the move
}

TEST_CASE("a moved operand never shows other values after the sum throws") {
  struct Throws : Observer {
    bool reads_values() const override { return false; }
    void op_end(const Op&, std::span<const Tensor* const>, const Tensor&) override {
      throw std::runtime_error("observer");
    }
  } observer;
  Tensor b = full({3}, 5.0);
  const Tensor a = ones({3});
  {
    const ObserverScope scope(observer);
    CHECK_THROWS_AS(a + std::move(b), std::runtime_error);
  }
  if (b.defined()) CHECK(b.to_vector<float>() == Values{5, 5, 5});  // NOLINT: after the move
}

TEST_CASE("a parameter that is moved into a sum keeps its values") {
  Tensor w = full({3}, 5.0).requires_grad_();
  const Tensor y = full({3}, 2.0) + std::move(w);
  CHECK(y.to_vector<float>() == Values{7, 7, 7});
  CHECK(w.to_vector<float>() == Values{5, 5, 5});  // NOLINT: after the move
}

TEST_CASE("run_again does not write to its arguments") {
  const Tensor w = ones({64}).requires_grad_();
  const Tensor y = dropout(w * 2.0, 0.5);
  const std::vector<Tensor> again = {full({64}, 7.0)};
  static_cast<void>(y.node()->run_again(again));
  CHECK(again[0].to_vector<float>() == Values(64, 7));
}

}  // namespace gradus
