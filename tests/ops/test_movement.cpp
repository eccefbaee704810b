#include <limits>

#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_movement {
namespace {

using Integers = std::vector<std::int64_t>;

Integers integers_of(const Tensor& x) { return x.to_vector<std::int64_t>(); }
Tensor counted(const Shape& shape) { return arange(numel(shape)).view(shape); }
bool shared(const Tensor& a, const Tensor& b) { return a.storage() == b.storage(); }

}  // namespace

TEST_CASE("views share storage") {
  const Tensor x = counted({2, 3, 4});
  CHECK(shared(reshape(x, {6, 4}), x));
  CHECK(shared(transpose(x), x));
  CHECK(shared(permute(x, {2, 0, 1}), x));
  CHECK(shared(expand(x, {5, 2, 3, 4}), x));
  CHECK(shared(slice(x, 1, 1, 3), x));
  CHECK(shared(select(x, -1, 0), x));
  CHECK(shared(squeeze(unsqueeze(x, 1), 1), x));
  for (const Tensor& part : split(x, 2, 2)) CHECK(shared(part, x));
  CHECK(shared(contiguous(x), x));
  CHECK(!shared(contiguous(transpose(x)), x));
}

TEST_CASE("reshape returns a view whenever strides allow it") {
  const Tensor x = counted({4, 6, 5});
  const Tensor half = slice(x, 0, 0, 4, 2);  // shape [2, 6, 5] with contiguous rows
  CHECK(shared(reshape(half, {2, 30}), x));
  CHECK(shared(reshape(half, {2, 3, 1, 2, 5}), x));
  CHECK(!shared(reshape(half, {60}), x));
  const Tensor heads = transpose(reshape(x, {4, 6, 5, 1}), 1, 2);  // [4, 5, 6, 1]
  CHECK(shared(reshape(heads, {4, 5, 2, 3}), x));
  CHECK(shared(reshape(heads, {2, 2, 5, 6}), x));
  CHECK(!shared(reshape(heads, {4, 30}), x));
  const Tensor repeated = expand(counted({3, 1}), {3, 4});
  CHECK(shared(reshape(repeated, {3, 2, 2}), repeated));
  CHECK(integers_of(reshape(half, {60})) == integers_of(half));
  CHECK(integers_of(reshape(heads, {2, 2, 5, 6})) == integers_of(heads));
}

TEST_CASE("a write is visible in every view") {
  const Tensor x = zeros({2, 3});
  Tensor row = select(transpose(x), 0, 1);
  row.fill_(7);
  CHECK(x.to_vector<float>() == std::vector<float>{0, 7, 0, 0, 7, 0});
}

TEST_CASE("movement: i64 and bool tensors are supported") {
  const Tensor x = counted({2, 3});
  CHECK(integers_of(cat({x, x}, 1)) == Integers{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  CHECK(integers_of(flip(x, {1})) == Integers{2, 1, 0, 5, 4, 3});
  CHECK(integers_of(repeat(x, {1, 2})) == Integers{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  CHECK(integers_of(tril(x)) == Integers{0, 0, 0, 3, 4, 0});
  CHECK(integers_of(pad(x, 1, 0, 1, -1)) == Integers{0, 1, 2, -1, 3, 4, 5, -1});
  CHECK(integers_of(contiguous(transpose(x))) == Integers{0, 3, 1, 4, 2, 5});
  const Tensor truth = x.to(Dtype::bool_);
  CHECK(triu(truth, 1).to_vector<bool>() ==
        std::vector<bool>{false, true, true, false, false, true});
  CHECK(stack({truth, truth}).shape() == Shape{2, 2, 3});
}

TEST_CASE("x[…] accepts positions and slices") {
  const Tensor x = counted({3, 4, 5});
  CHECK(integers_of(x[2]) == integers_of(select(x, 0, 2)));
  CHECK(x[{Slice{}, 1}].shape() == Shape{3, 5});
  CHECK(integers_of(x[{-1, 0, slice(1, 3)}]) == Integers{41, 42});
  CHECK(integers_of(x[{0, slice(-2, 100), 4}]) == Integers{14, 19});
  CHECK(x[{slice(2, 1)}].shape() == Shape{0, 4, 5});
  CHECK_REFUSES(IndexError, (x[{0, 0, 0, 0}]), "[3, 4, 5]", "4");
}

TEST_CASE("split and chunk: the last part may be smaller") {
  const Tensor x = counted({7, 2});
  const std::vector<Tensor> parts = split(x, 3);
  REQUIRE(parts.size() == 3);
  CHECK(parts[2].shape() == Shape{1, 2});
  CHECK(integers_of(cat(parts)) == integers_of(x));
  CHECK(chunk(x, 2)[0].shape() == Shape{4, 2});
  CHECK(chunk(x, 9).size() == 7);
  CHECK(chunk(x, 5).size() == 4);  // chunks have sizes 2, 2, 2, 1
  CHECK(split(zeros({0, 2}), 3).size() == 1);
  CHECK(split(x, {1, 0, 6}, 0)[1].shape() == Shape{0, 2});
}

TEST_CASE("gradients of overlapping slices accumulate") {
  const Tensor x = zeros({4}, Dtype::f64).requires_grad_();
  const Tensor parts[] = {slice(x, 0, 0, 3), slice(x, 0, 1, 4), slice(x, 0, 0, 4, 3)};
  (sum(parts[0]) + sum(parts[1] * 10.0) + sum(parts[2] * 100.0)).backward();
  CHECK(x.grad().to_vector<double>() == std::vector<double>{101, 11, 11, 110});
}

TEST_CASE("tril: cut values and gradients are 0 even if they were NaN") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = tensor({{1, nan}, {2, 3}}, Dtype::f64).requires_grad_();
  const Tensor y = tril(x);
  CHECK(y.to_vector<double>() == std::vector<double>{1, 0, 2, 3});
  y.backward(tensor({{5, nan}, {6, 7}}, Dtype::f64));
  CHECK(x.grad().to_vector<double>() == std::vector<double>{5, 0, 6, 7});
}

TEST_CASE("repeat: eight axes and empty results are supported") {
  const Tensor x = counted({1, 1, 1, 1, 1, 1, 1, 2});
  const Tensor y = repeat(x, {1, 2, 1, 1, 1, 1, 1, 2});
  CHECK(y.shape() == Shape{1, 2, 1, 1, 1, 1, 1, 4});
  CHECK(integers_of(y) == Integers{0, 1, 0, 1, 0, 1, 0, 1});
  CHECK(repeat(x, {1, 1, 1, 1, 1, 1, 0, 3}).shape() == Shape{1, 1, 1, 1, 1, 1, 0, 6});
  CHECK(repeat(zeros({0, 2}), {3, 2}).shape() == Shape{0, 4});
}

}  // namespace gradus::testing::test_movement
