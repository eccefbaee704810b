#include <cmath>
#include <limits>

#include "gradus/engine/backward.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_reduce {
namespace {

using List = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor leaf(const List& x) {
  return tensor(x, {static_cast<std::int64_t>(x.size())}).requires_grad_();
}

template <class F>
List derivative(const List& x, F f) {
  const Tensor in = leaf(x);
  f(in).backward();
  return in.grad().to_vector<double>();
}

}  // namespace

TEST_CASE("sum: reduced axes are removed or kept with size 1") {
  const Tensor x = ones({2, 3, 5});
  CHECK(sum(x).shape() == Shape{});
  CHECK(sum(x, {}, true).shape() == Shape{1, 1, 1});
  CHECK(sum(x, {1}).shape() == Shape{2, 5});
  CHECK(sum(x, {-1, 0}).shape() == Shape{3});
  CHECK(sum(x, {-1, 0}, true).shape() == Shape{1, 3, 1});
  CHECK(sum(x, {1}).to_vector<float>() == std::vector<float>(10, 3.0f));
}

TEST_CASE("mean: the gradient is exact for more elements than f32 can count") {
  constexpr std::int64_t kCount = (1 << 24) + 1;
  const Tensor x = expand(ones({1}, Dtype::f64), {kCount}).detach().requires_grad_();
  const Tensor dx = grad({mean(x)}, {x}, {ones({}, Dtype::f64)})[0];
  CHECK(select(dx, 0, 0).item() == 1.0 / static_cast<double>(kCount));
}

TEST_CASE("reductions of empty tensors give their neutral elements") {
  const Tensor none = zeros({2, 0});
  CHECK(sum(none, {1}).to_vector<float>() == std::vector<float>{0, 0});
  CHECK(prod(none).item() == 1);
  CHECK(norm(none).item() == 0);
  CHECK(std::isnan(mean(none).item()));
  CHECK(logsumexp(none).item() == -kInfinity);
  CHECK(sum(none, {0}).shape() == Shape{0});
  const std::string why = message_of<ShapeError>([&] { max(none, {1}); });
  CHECK(has(why, "max"));
  CHECK(has(why, "[2, 0]"));
  CHECK(has(why, "[1]"));
  CHECK(max(none, {0}).shape() == Shape{0});
}

TEST_CASE("var: too few elements give NaN, and one element with correction 0 gives 0") {
  const Tensor one = tensor({3.0});
  CHECK(std::isnan(var(one).item()));
  CHECK(var(one, {}, false, 0).item() == 0);
  CHECK_REFUSES(ValueError, var(one, {}, false, -1), "var", "-1");
}

TEST_CASE("var: no cancellation far from 0") {
  // A difference of squares would have no correct digits in f64.
  const Tensor x = tensor({1e8 - 1, 1e8 + 1}, Dtype::f64);
  CHECK(var(x).item() == 2);
}

TEST_CASE("std and norm: the derivative is 0 where the value is 0, and has a derivative") {
  const auto std_of = [](const Tensor& x) { return std(x); };
  CHECK(derivative({2, 2, 2}, std_of) == List{0, 0, 0});
  const auto norm_of = [](const Tensor& x) { return norm(x); };
  CHECK(derivative({0, 0}, norm_of) == List{0, 0});
  const Tensor x = leaf({0, 0});
  const Tensor dx = grad(norm(x), x, {.create_graph = true});
  for (const double second : grad(sum(dx), x).to_vector<double>()) CHECK(std::isfinite(second));
}

TEST_CASE("max and min: NaN wins at any position") {
  for (const std::size_t place : {0u, 5u, 17u, 40u}) {
    List x(41, 1.0);
    x[place] = kNan;
    CHECK(std::isnan(max(leaf(x)).item()));
    CHECK(std::isnan(min(leaf(x)).item()));
    CHECK(std::isnan(max(leaf(x).view({41, 1}), {0}).item()));
    CHECK(derivative(x, [](const Tensor& v) { return max(v); })[place] == 1);
  }
}

TEST_CASE("logsumexp: infinite inputs give the limits") {
  CHECK(logsumexp(leaf({-kInfinity, -kInfinity})).item() == -kInfinity);
  CHECK(logsumexp(leaf({1, kInfinity})).item() == kInfinity);
  CHECK(std::isnan(logsumexp(leaf({1, kNan})).item()));
  const auto f = [](const Tensor& x) { return logsumexp(x); };
  CHECK(derivative({-kInfinity, -kInfinity}, f) == List{0, 0});
  CHECK(derivative({-kInfinity, 2}, f) == List{0, 1});
  const double large = logsumexp(leaf({1000, 1000})).item();
  CHECK(std::abs(large - (1000 + std::log(2))) < 1e-12);  // an ulp of the result is 1e-13
}

TEST_CASE("prod: gradients are right with zeros, once and twice differentiated") {
  const auto f = [](const Tensor& x) { return prod(x); };
  CHECK(derivative({2, 3, 5}, f) == List{15, 10, 6});
  CHECK(derivative({2, 0, 5}, f) == List{0, 10, 0});
  CHECK(derivative({0, 3, 0}, f) == List{0, 0, 0});
  const Tensor x = leaf({0, 3, 0, 7});
  const Tensor dx = grad(prod(x), x, {.create_graph = true});
  CHECK(grad(select(dx, 0, 0), x).to_vector<double>() == List{0, 0, 21, 0});  // ∂²/∂x₀∂x₂ = x₁ x₃
}

TEST_CASE("reductions: i64 is exact, and other types are converted or rejected") {
  const Tensor integers = tensor(std::vector<std::int64_t>{3, -5, 9007199254740993}, {3});
  CHECK(sum(integers).dtype() == Dtype::i64);
  CHECK(sum(integers).to_vector<std::int64_t>()[0] == 9007199254740991);  // exact
  CHECK(max(integers).to_vector<std::int64_t>()[0] == 9007199254740993);
  CHECK(min(integers).to_vector<std::int64_t>()[0] == -5);
  CHECK(cumsum(integers, 0).to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{3, -2, 9007199254740991});
  CHECK_REFUSES(DtypeError, mean(integers), "mean", "f32", "f64");
  const Tensor truth = tensor<bool>(std::array<bool, 2>{true, false}, {2});
  CHECK_REFUSES(DtypeError, sum(truth), "sum");
}

TEST_CASE("sum: f32 is summed in double") {
  // An f32 sum would lose each 1.
  List x(101, 1.0);
  x[0] = 0x1p24;
  const Tensor single = leaf(x).to(Dtype::f32);
  CHECK(sum(single).item() == 0x1p24 + 100);
  CHECK(sum(single.view({101, 1}), {0}).item() == 0x1p24 + 100);
  CHECK(cumsum(single, 0).to_vector<float>()[100] == 0x1p24f + 100);
}

}  // namespace gradus::testing::test_reduce
