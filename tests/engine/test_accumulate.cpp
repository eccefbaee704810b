// Accumulation of whole and partial gradients, saved tensors, and misuse of gradient functions.
#include "gradus/engine/accumulate.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/members.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"

namespace gradus::testing {
namespace {

/// x as the input of an operation that returns `d`.
void walk_with(const Tensor& x, const Gradient& d) {
  custom(x, [d](const Tensor&) { return Gradients{d}; }).backward(ones(x.shape(), x.dtype()));
}

TEST_CASE("row gradients with strided, repeated indices are added to their rows") {
  const Tensor x = zeros({4, 200}, Dtype::f64).requires_grad_();
  const Tensor part = reshape(arange(600).to(Dtype::f64), {3, 200});
  const Tensor both = tensor(std::vector<std::int64_t>{2, 9, 0, 9, 2, 9}, {6});
  walk_with(
      x, Gradient::rows(part, kernel::strided_view(both, {3}, {2}, 0)));  // every second: 2, 0, 2
  Numbers expected(800, 0.0);
  for (std::size_t c = 0; c < 200; ++c) {
    expected[400 + c] = static_cast<double>(c + 400 + c);
    expected[c] = static_cast<double>(200 + c);
  }
  expect(numbers(x.grad()) == expected, "rows by a strided index, repeated ones added");
  // Many rows of many columns: threads share out the columns.
  const Tensor wide = zeros({2, 200}, Dtype::f64).requires_grad_();
  std::vector<std::int64_t> ones_and_zeros;
  for (int i = 0; i < 300; ++i) ones_and_zeros.push_back(i % 3 == 0);
  const Tensor many = reshape(arange(60000).to(Dtype::f64), {300, 200});
  walk_with(wide, Gradient::rows(many, tensor(ones_and_zeros, {300})));
  const Numbers sums = numbers(wide.grad());
  for (std::size_t c = 0; c < 200; ++c) {
    const double column = static_cast<double>(c);
    expect(sums[200 + c] == 100 * column + 200 * 14850,
           "every third row, summed");  // 0 + 3 + … + 297
    expect(sums[c] == 200 * column + 200 * 30000, "the others");
  }
  const Tensor v = zeros({5}, Dtype::f64).requires_grad_();
  walk_with(v, Gradient::rows(tensor({1.0, 2.0, 4.0}, Dtype::f64),
                              tensor(std::vector<std::int64_t>{1, 4, 1}, {3})));
  expect(numbers(v.grad()) == Numbers{0, 5, 0, 0, 2}, "elements of a vector");
  const Tensor none = tensor(std::vector<std::int64_t>{}, {0});
  const Tensor w = zeros({3, 2}, Dtype::f64).requires_grad_();
  walk_with(w, Gradient::rows(zeros({0, 2}, Dtype::f64), none));
  expect(numbers(w.grad()) == Numbers(6, 0.0), "no rows at all");
  const Tensor scalar = zeros({}, Dtype::f64).requires_grad_();
  expect_error<ShapeError>(
      "rows", [&] { walk_with(scalar, Gradient::rows(zeros({0}, Dtype::f64), none)); });
}

TEST_CASE("accumulation writes into the arriving buffer when the sum is shared") {
  const Tensor seen = ones({3}, Dtype::f64);
  Tensor sum = seen, part = tensor({1, 2, 3}, Dtype::f64);
  const void* buffer = part.data<double>();
  accumulate(sum, {3}, Dtype::f64, std::move(part), false);
  CHECK(sum.data<double>() == buffer);
  CHECK(numbers(sum) == Numbers{2, 3, 4});
  CHECK(numbers(seen) == Numbers{1, 1, 1});
}

TEST_CASE("slice gradients outside the tensor throw ShapeError") {
  const Tensor x = zeros({3, 4}, Dtype::f64).requires_grad_();
  const auto refused = [&](const Tensor& part, int axis, std::int64_t start, std::int64_t step) {
    expect_error<ShapeError>("partial gradient",
                             [&] { walk_with(x, Gradient::slice(part, axis, start, step)); });
  };
  refused(ones({3, 4}, Dtype::f64), -1, 0, 1);
  refused(ones({3, 4}, Dtype::f64), -1, 0, std::int64_t{1} << 62);
  refused(ones({3, 4}, Dtype::f64), 2, 0, 1);
  refused(ones({3}, Dtype::f64), 0, 0, 1);
  refused(ones({3, 4, 1}, Dtype::f64), 0, 0, 1);
  refused(ones({3, 2}, Dtype::f64), 0, 0, 1);
  refused(ones({3, 1}, Dtype::f64), 1, 4, 1);
  refused(ones({3, 2}, Dtype::f64), 1, 2, 2);
  refused(ones({3, 2}, Dtype::f64), 1, -1, 1);
  refused(ones({3, 2}, Dtype::f64), 1, 0, 0);
  walk_with(x, Gradient::slice(ones({3, 0}, Dtype::f64), 1, 9, 1));
  expect(numbers(x.grad()) == Numbers(12, 0.0), "nothing fits anywhere");
  walk_with(x, Gradient::slice(ones({3, 2}, Dtype::f64), 1, 1, 2));
  expect(numbers(x.grad()) == Numbers{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}, "every second column");
}

TEST_CASE("whole gradients of the wrong shape throw ShapeError") {
  const Tensor x = zeros({3, 4}, Dtype::f64).requires_grad_();
  for (const Shape& wrong : {Shape{}, Shape{3}, Shape{4}, Shape{1, 4}, Shape{4, 3}, Shape{2, 3, 1}})
    expect_error<ShapeError>("a gradient has shape",
                             [&] { walk_with(x, ones(wrong, Dtype::f64)); });
}

/// A recorded tensor stays differentiable when an op returns it as a gradient.
TEST_CASE("a gradient that was recorded earlier can be differentiated") {
  const Tensor x = leaf({1}), z = leaf({2}), held = z * z;
  const Tensor y = custom(x, [held](const Tensor&) { return Gradients{held}; });
  const Tensor dx = grad(y, x, {.create_graph = true});
  expect(numbers(grad(dx, z)) == Numbers{4}, "its derivative is its own");
}

/// A whole gradient that begins inside a buffer, then a partial one.
TEST_CASE("a partial gradient is added to a gradient that is a view") {
  const Tensor x = zeros({2, 2}, Dtype::f64).requires_grad_();
  const Tensor first = custom(x, [](const Tensor& dy) {
    return Gradients{Gradient::slice(kernel::strided_view(dy, {2, 1}, {2, 1}, 0), 1, 1)};
  });
  const Tensor second = custom(x, [](const Tensor&) {
    return Gradients{kernel::strided_view(arange(9).to(Dtype::f64), {2, 2}, {2, 1}, 5)};
  });
  sum(first * 10.0 + second).backward();
  expect(numbers(x.grad()) == Numbers{5, 16, 7, 18}, "a part onto a view with an offset");
}

/// Accumulation in place would change the caller's tensor or several elements at once.
TEST_CASE("accumulation copies shared and expanded gradients") {
  const Tensor x = leaf({0, 0, 0}), held = tensor({1.0, 2.0, 3.0}, Dtype::f64);
  const Tensor average = mean(x);
  const Tensor other = custom(x, [held](const Tensor&) { return Gradients{held}; });
  (average + sum(other)).backward();
  const double third = 1.0 / 3;
  expect(numbers(x.grad()) == Numbers{1 + third, 2 + third, 3 + third}, "held and expanded, added");
  const Tensor z = leaf({0, 0, 0});
  sum(custom(z, [held](const Tensor&) { return Gradients{held}; })).backward();
  z.grad().fill_(7);
  expect(numbers(held) == Numbers{1, 2, 3}, "what is held stays");
}

TEST_CASE("an op without a derivative records nothing under NoGrad") {
  const Tensor x = leaf({1});
  const NoGrad off;
  expect(!apply(op::Nothing{}, x).requires_grad(), "nothing is recorded under NoGrad");
}

TEST_CASE("backward through an op without a derivative throws GraphError") {
  const Tensor x = leaf({1});
  expect_error<GraphError>("nothing has no derivative",
                           [&] { apply(op::Nothing{}, x).backward(); });
}

TEST_CASE("Saved::take keeps the values while the graph is kept") {
  const Tensor x = leaf({1, 2});
  Saved saved(x);
  const Wanted kept({}, false), last({}, true);
  expect(numbers(saved.take(kept)) == Numbers{1, 2}, "take() with the graph kept");
  expect(numbers(saved.value()) == Numbers{1, 2}, "leaves the values");
  expect(numbers(saved.take(last)) == Numbers{1, 2}, "the last take()");
  expect(!saved.value().defined(), "leaves the shape alone");
}

TEST_CASE("recomputing an input whose producer was used up throws GraphError") {
  const Tensor x = leaf({1, 2}), w = leaf({3, 4}), b = leaf({0, 0});
  struct Cheap final : Op {
    Saved x;
    const char* name() const override { return "cheap"; }
    bool is_recomputable() const override { return true; }
    Tensor forward(const Tensor& in) { return x = in, in.clone(); }
    Tensor recompute() const override { return x.value().clone(); }
    Gradients backward(const Tensor& dy, const Wanted&) override { return {dy}; }
  };
  const Tensor h = apply(Cheap{}, x);
  const Tensor y = h * w;
  sum(h).backward();
  expect_error<GraphError>("another backward used that node up", [&] { grad(sum(y), w); });
}

TEST_CASE("misuse of requires_grad_, set_grad and hooks is rejected") {
  Tensor x = tensor({1.0}, Dtype::f64);
  x.requires_grad_(false);
  expect(!x.requires_grad() && !x.node(), "frozen before it was a leaf");
  expect_error<GraphError>("fill_: the tensor is undefined", [] { Tensor().fill_(1); });
  expect_error<GraphError>("wants a leaf",
                           [&] { x.register_post_accumulate_hook([](Tensor&) {}); });
  Tensor w = leaf({1});
  expect_error<DtypeError>("set_grad", [&] { w.set_grad(ones({1}, Dtype::f32)); });
  w.set_grad(leaf({2}) * 3.0);
  expect(!w.grad().requires_grad() && numbers(w.grad()) == Numbers{6}, "set_grad cuts off");
  expect(!reuse_or_empty(leaf({2}) * 3.0).requires_grad(), "a buffer has no place in the graph");
}

}  // namespace
}  // namespace gradus::testing
