#include "gradus/engine/strided.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/members.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing::test_attention_views {
namespace {

/// Requires the same results for a view and for its contiguous copy.
void expect_as_packed(const Tensor& x, const std::string& what) {
  const auto outcome = [](const Tensor& in) {
    const Tensor q = in.detach().requires_grad_(), k = in.detach().requires_grad_(),
                 v = in.detach().requires_grad_();
    const Tensor y = scaled_dot_product_attention(q, k, v);
    y.backward(values(y.shape(), 3));
    return std::vector<Numbers>{numbers(y), numbers(q.grad()), numbers(k.grad()),
                                numbers(v.grad())};
  };
  const std::vector<Numbers> viewed = outcome(x), packed = outcome(x.clone());
  for (std::size_t i = 0; i < viewed.size(); ++i) expect(near(viewed[i], packed[i], 1e-13), what);
}

TEST_CASE("attention of strided views equals attention of packed copies") {
  const Tensor one = values({1, 1, 1, 1}), row = values({9}), square = values({1, 1, 3, 2});
  expect_as_packed(expand(one, {1, 1, 5, 1}), "repeated rows of one value");
  expect_as_packed(kernel::strided_view(row, {1, 1, 2, 3}, {9, 9, 2, 1}, 0), "rows that overlap");
  expect_as_packed(transpose(slice(square, 3, 0, 1)), "one row stored as a column");
  expect_as_packed(kernel::strided_view(square, {1, 1, 2, 1}, {6, 6, 0, 1}, 1), "a stride of 0");
  expect_as_packed(kernel::strided_view(square, {1, 1, 1, 2}, {6, 6, 0, 1}, 2),
                   "one row of any stride");
  expect_as_packed(kernel::strided_view(row, {1, 1, 2, 3}, {9, 9, 4, 0}, 0), "columns that repeat");
}

}  // namespace
}  // namespace gradus::testing::test_attention_views
