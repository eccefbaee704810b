#include "gradus/engine/strided.h"
#include "gradus/ops/members.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"

namespace gradus::testing::test_accumulate {
namespace {

void walk_with(const Tensor& x, const Gradient& d) {
  custom(x, [d](const Tensor&) { return Gradients{d}; }).backward(ones(x.shape(), x.dtype()));
}

TEST_CASE("row gradients with strided, repeated indices are added to their rows") {
  const Tensor x = zeros({4, 200}, Dtype::f64).requires_grad_();
  const Tensor part = reshape(arange(600).to(Dtype::f64), {3, 200});
  const Tensor both = tensor(std::vector<std::int64_t>{2, 9, 0, 9, 2, 9}, {6});
  // Views the values 2, 0, 2.
  walk_with(x, Gradient::rows(part, kernel::strided_view(both, {3}, {2}, 0)));
  Numbers expected(800, 0.0);
  for (std::size_t c = 0; c < 200; ++c) {
    expected[400 + c] = static_cast<double>(c + 400 + c);
    expected[c] = static_cast<double>(200 + c);
  }
  expect(numbers(x.grad()) == expected, "rows of a strided index, with repeated rows added");
  // With many columns, threads split the columns.
  const Tensor wide = zeros({2, 200}, Dtype::f64).requires_grad_();
  std::vector<std::int64_t> every_third;
  for (int i = 0; i < 300; ++i) every_third.push_back(i % 3 == 0);
  const Tensor many = reshape(arange(60000).to(Dtype::f64), {300, 200});
  walk_with(wide, Gradient::rows(many, tensor(every_third, {300})));
  const Numbers sums = numbers(wide.grad());
  for (std::size_t c = 0; c < 200; ++c) {
    const double column = static_cast<double>(c);
    CHECK(sums[200 + c] == 100 * column + 200 * 14850);  // 0 + 3 + … + 297
    CHECK(sums[c] == 200 * column + 200 * 30000);
  }
  const Tensor v = zeros({5}, Dtype::f64).requires_grad_();
  walk_with(v, Gradient::rows(tensor({1.0, 2.0, 4.0}, Dtype::f64),
                              tensor(std::vector<std::int64_t>{1, 4, 1}, {3})));
  expect(numbers(v.grad()) == Numbers{0, 5, 0, 0, 2}, "elements of a vector");
  const Tensor none = tensor(std::vector<std::int64_t>{}, {0});
  const Tensor w = zeros({3, 2}, Dtype::f64).requires_grad_();
  walk_with(w, Gradient::rows(zeros({0, 2}, Dtype::f64), none));
  expect(numbers(w.grad()) == Numbers(6, 0.0), "no rows");
  const Tensor scalar = zeros({}, Dtype::f64).requires_grad_();
  expect_error<ShapeError>(
      "rows", [&] { walk_with(scalar, Gradient::rows(zeros({0}, Dtype::f64), none)); });
}

TEST_CASE("full gradients of the wrong shape throw ShapeError") {
  const Tensor x = zeros({3, 4}, Dtype::f64).requires_grad_();
  for (const Shape& wrong : {Shape{}, Shape{3}, Shape{4}, Shape{1, 4}, Shape{4, 3}, Shape{2, 3, 1}})
    expect_error<ShapeError>("a gradient has shape",
                             [&] { walk_with(x, ones(wrong, Dtype::f64)); });
}

TEST_CASE("a gradient that was recorded earlier can be differentiated") {
  const Tensor x = leaf({1}), z = leaf({2}), held = z * z;
  const Tensor y = custom(x, [held](const Tensor&) { return Gradients{held}; });
  const Tensor dx = grad(y, x, {.create_graph = true});
  expect(numbers(grad(dx, z)) == Numbers{4}, "the derivative of a recorded gradient");
}

/// Adds an entire gradient with an offset in its buffer, then a partial one.
TEST_CASE("a partial gradient is added to a gradient that is a view") {
  const Tensor x = zeros({2, 2}, Dtype::f64).requires_grad_();
  const Tensor first = custom(x, [](const Tensor& dy) {
    return Gradients{Gradient::slice(kernel::strided_view(dy, {2, 1}, {2, 1}, 0), 1, 1)};
  });
  const Tensor second = custom(x, [](const Tensor&) {
    return Gradients{kernel::strided_view(arange(9).to(Dtype::f64), {2, 2}, {2, 1}, 5)};
  });
  sum(first * 10.0 + second).backward();
  expect(numbers(x.grad()) == Numbers{5, 16, 7, 18}, "a part added to a view with an offset");
}

/// Accumulating in place would change the caller's tensor. In an expanded tensor, it would change
/// several elements at a time.
TEST_CASE("accumulation copies shared and expanded gradients") {
  const Tensor x = leaf({0, 0, 0}), held = tensor({1.0, 2.0, 3.0}, Dtype::f64);
  const Tensor average = mean(x);
  const Tensor other = custom(x, [held](const Tensor&) { return Gradients{held}; });
  (average + sum(other)).backward();
  const double third = 1.0 / 3;
  expect(numbers(x.grad()) == Numbers{1 + third, 2 + third, 3 + third},
         "the sum of a shared and an expanded gradient");
  const Tensor z = leaf({0, 0, 0});
  sum(custom(z, [held](const Tensor&) { return Gradients{held}; })).backward();
  z.grad().fill_(7);
  expect(numbers(held) == Numbers{1, 2, 3}, "the shared gradient is unchanged");
}

}  // namespace
}  // namespace gradus::testing::test_accumulate
