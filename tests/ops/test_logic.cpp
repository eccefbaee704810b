#include <array>
#include <limits>

#include "gradus/engine/backward.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_logic {
namespace {

using Bits = std::vector<bool>;
using List = std::vector<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Bits bits(const Tensor& x) { return x.to_vector<bool>(); }

template <std::size_t n>
Tensor flags(const std::array<bool, n>& values, const Shape& shape) {
  return tensor(std::span<const bool>(values), shape);
}

}  // namespace

TEST_CASE("logic: comparisons of tensors and numbers handle NaN") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const Tensor a = tensor({1, 2, 3, kNan, kNan}, dtype), b = tensor({2, 2, 2, 2, kNan}, dtype);
    CHECK(bits(equal(a, b)) == Bits{0, 1, 0, 0, 0});
    CHECK(bits(not_equal(a, b)) == Bits{1, 0, 1, 1, 1});
    CHECK(bits(a < b) == Bits{1, 0, 0, 0, 0});
    CHECK(bits(a <= b) == Bits{1, 1, 0, 0, 0});
    CHECK(bits(a > b) == Bits{0, 0, 1, 0, 0});
    CHECK(bits(a >= b) == Bits{0, 1, 1, 0, 0});
    CHECK(bits(equal(a, 2)) == Bits{0, 1, 0, 0, 0});
    CHECK(bits(not_equal(a, 2)) == Bits{1, 0, 1, 1, 1});
    CHECK(bits(a < 2) == Bits{1, 0, 0, 0, 0});
    CHECK(bits(a <= 2) == Bits{1, 1, 0, 0, 0});
    CHECK(bits(a > 2) == Bits{0, 0, 1, 0, 0});
    CHECK(bits(a >= 2) == Bits{0, 1, 1, 0, 0});
  }
}

TEST_CASE("logic: a number converts to a floating-point tensor's type, but not to i64") {
  CHECK(bits(equal(tensor({0.1}), 0.1)) == Bits{1});
  CHECK(bits(indices({2, 3}) < 2.5) == Bits{1, 0});
  CHECK(bits(equal(indices({2, 3}), 2.5)) == Bits{0, 0});
  CHECK(bits(indices({-5, 7}) >= indices({-5, 8})) == Bits{1, 0});
}

TEST_CASE("logic: comparisons broadcast and accept any strides") {
  const Tensor rows = arange(3).view({3, 1}), columns = arange(4);
  CHECK(bits(greater_equal(rows, columns)) == Bits{1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0});
  const Tensor x = arange(6).view({2, 3});
  CHECK(bits(equal(transpose(x), transpose(x).contiguous())) == Bits(6, true));
  CHECK(less(zeros({0, 3}), 1).shape() == Shape{0, 3});
  CHECK(bits(less(tensor(1), tensor(2))) == Bits{1});
}

TEST_CASE("logic: and, or, xor and not give their truth tables") {
  const Tensor a = flags<4>({false, false, true, true}, {4}),
               b = flags<4>({false, true, false, true}, {4});
  CHECK(bits(logical_and(a, b)) == Bits{0, 0, 0, 1});
  CHECK(bits(logical_or(a, b)) == Bits{0, 1, 1, 1});
  CHECK(bits(logical_xor(a, b)) == Bits{0, 1, 1, 0});
  CHECK(bits(logical_not(a)) == Bits{1, 1, 0, 0});
  CHECK(bits(logical_and(a, flags<1>({true}, {}))) == bits(a));
}

TEST_CASE("logic: isfinite and isnan classify special values") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const Tensor x = tensor({1, kInf, -kInf, kNan, 3e38, -0.0}, dtype);
    CHECK(bits(isfinite(x)) == Bits{1, 0, 0, 0, 1, 1});
    CHECK(bits(isnan(x)) == Bits{0, 0, 0, 1, 0, 0});
  }
  CHECK_THROWS_AS(isnan(indices({1})), DtypeError);
}

TEST_CASE("logic: all and any reduce everything or one axis") {
  const Tensor x = flags<6>({true, true, false, true, false, false}, {2, 3});
  CHECK(!all(x));
  CHECK(any(x));
  CHECK(bits(all(x, 0)) == Bits{1, 0, 0});
  CHECK(bits(any(x, 0)) == Bits{1, 1, 0});
  CHECK(bits(all(x, 1)) == Bits{0, 0});
  CHECK(bits(any(x, -1)) == Bits{1, 1});
  CHECK(any(x, -1, true).shape() == Shape{2, 1});
  CHECK(bits(all(transpose(x), 1)) == Bits{1, 0, 0});
  const Tensor nothing = Tensor::empty({0, 2}, Dtype::bool_);
  CHECK(all(nothing));
  CHECK(!any(nothing));
  CHECK(bits(all(nothing, 0)) == Bits{1, 1});
  CHECK(bits(any(nothing, 0)) == Bits{0, 0});
  CHECK(all(nothing, 1).shape() == Shape{0});
  Tensor many = Tensor::empty({1 << 20}, Dtype::bool_).fill_(1);
  CHECK(all(many));
  many.mutable_data<bool>()[(1 << 20) - 1] = false;
  CHECK(!all(many));
  CHECK(any(logical_not(many)));
}

TEST_CASE("logic: unselected values of where reach neither result nor gradient") {
  const Tensor a = tensor({1, kNan, 3}, Dtype::f64).requires_grad_();
  const Tensor b = tensor({kInf, 5, 6}, Dtype::f64).requires_grad_();
  const Tensor y = where(flags<3>({true, false, true}, {3}), a, b);
  CHECK(y.to_vector<double>() == List{1, 5, 3});
  const std::vector<Tensor> d = grad({y}, {a, b}, {tensor({kInf, 2, 3}, Dtype::f64)});
  CHECK(d[0].to_vector<double>() == List{kInf, 0, 3});
  CHECK(d[1].to_vector<double>() == List{0, 2, 0});
  const Tensor x = tensor({4, kNan}, Dtype::f64).requires_grad_();
  const Tensor filled = masked_fill(x, isnan(x), -kInf);
  CHECK(filled.to_vector<double>() == List{4, -kInf});
  CHECK(grad({filled}, {x}, {tensor({2, kNan}, Dtype::f64)})[0].to_vector<double>() == List{2, 0});
}

TEST_CASE("logic: where accepts every type, and comparisons carry no gradient") {
  const Tensor c = flags<2>({true, false}, {2});
  CHECK(where(c, indices({1, 2}), indices({3, 4})).to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{1, 4});
  CHECK(bits(where(c, c, logical_not(c))) == Bits{1, 1});
  CHECK(where(c, tensor({1, 2}), tensor(9)).to_vector<float>() == std::vector<float>{1, 9});
  CHECK(masked_fill(indices({1, 2}), c, 7).to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{7, 2});
  const Tensor x = tensor({1, 2}).requires_grad_();
  CHECK(!less(x, 2).requires_grad());
  CHECK(!isfinite(x).requires_grad());
}

}  // namespace gradus::testing::test_logic
