#include <cmath>
#include <limits>

#include "gradus/engine/backward.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_arithmetic {
namespace {

using testing::has;
using testing::message_of;

using List = std::vector<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor leaf(std::initializer_list<double> values) {
  return tensor(values, Dtype::f64).requires_grad_();
}

/// d Σ f(x) / dx
List slope(const std::function<Tensor(const Tensor&)>& f, std::initializer_list<double> at) {
  const Tensor x = leaf(at);
  f(x).backward(ones({static_cast<std::int64_t>(at.size())}, Dtype::f64));
  return x.grad().to_vector<double>();
}

/// d² Σ f(x) / dx² for an elementwise f
List curvature(const std::function<Tensor(const Tensor&)>& f, std::initializer_list<double> at) {
  const Tensor x = leaf(at), one = ones({static_cast<std::int64_t>(at.size())}, Dtype::f64);
  const Tensor dx = grad({f(x)}, {x}, {one}, {.create_graph = true})[0];
  return grad({dx}, {x}, {one})[0].to_vector<double>();
}

bool same(const List& a, const List& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))) return false;
  return true;
}

Tensor noise(const Shape& shape) {
  std::vector<float> out(static_cast<std::size_t>(numel(shape)));
  std::uint32_t state = 1;
  for (float& v : out)
    v = static_cast<float>((state = state * 1664525u + 1013904223u) >> 8) * 0x1p-23f - 1;
  return tensor(out, shape);
}

}  // namespace

TEST_CASE("arithmetic: second derivatives of special powers are exact") {
  CHECK(slope([](const Tensor& x) { return pow(x, 0); }, {0, 3}) == List{0, 0});
  CHECK(slope([](const Tensor& x) { return pow(x, 1); }, {0, -3}) == List{1, 1});
  CHECK(slope([](const Tensor& x) { return pow(x, 2); }, {0, -3}) == List{0, -6});
  CHECK(curvature([](const Tensor& x) { return pow(x, 2); }, {0, -3}) == List{2, 2});
  CHECK(curvature([](const Tensor& x) { return pow(x, 1) * x; }, {0, -3}) == List{2, 2});
  CHECK(curvature(square, {0, 5}) == List{2, 2});
  CHECK(curvature([](const Tensor& x) { return abs(x) * x; }, {2, -3}) == List{2, -2});
}

TEST_CASE("arithmetic: the derivative of a power in its exponent is 0 at base 0") {
  const Tensor x = leaf({0, 0, 0, 2}), e = leaf({0, 1, 2, 3});
  const Tensor y = pow(x, e);
  CHECK(y.to_vector<double>() == List{1, 0, 0, 8});
  const std::vector<Tensor> d = grad({y}, {x, e}, {ones({4}, Dtype::f64)}, {.create_graph = true});
  CHECK(d[0].to_vector<double>() == List{0, 1, 0, 12});
  const List by_exponent = d[1].to_vector<double>();
  CHECK(List(by_exponent.begin(), by_exponent.begin() + 3) == List{0, 0, 0});
  CHECK(std::abs(by_exponent[3] - 8 * std::log(2)) < 1e-14);  // allows a few rounding errors of 5.5
  const Tensor mixed = grad({d[0]}, {e}, {ones({4}, Dtype::f64)})[0];
  for (const double v : mixed.to_vector<double>()) CHECK(std::isfinite(v));
}

TEST_CASE("arithmetic: the mixed derivative of a power at exponent 0 is 1 / x") {
  const Tensor x = leaf({2, -0.5}), e = leaf({0, 0}), one = ones({2}, Dtype::f64);
  const Tensor dx = grad({pow(x, e)}, {x}, {one}, {.create_graph = true})[0];
  CHECK(dx.to_vector<double>() == List{0, 0});
  // The derivative is x⁻¹ + 0 · log x, where log x is NaN.
  CHECK(grad({dx}, {e}, {one})[0].to_vector<double>()[0] == 0.5);
}

TEST_CASE("arithmetic: infinities and NaN follow IEEE 754") {
  const Tensor x = tensor({kInf, -kInf, kNan, 0.0}, Dtype::f64);
  const auto of = [&](const Tensor& y) { return y.to_vector<double>(); };
  CHECK(same(of(x + x), {kInf, -kInf, kNan, 0}));
  CHECK(same(of(x - x), {kNan, kNan, kNan, 0}));
  CHECK(same(of(x * 0.0), {kNan, kNan, kNan, 0}));
  CHECK(same(of(1.0 / x), {0, -0.0, kNan, kInf}));
  CHECK(same(of(x / x), {kNan, kNan, kNan, kNan}));
  CHECK(same(of(exp(x)), {kInf, 0, kNan, 1}));
  CHECK(same(of(log(x)), {kInf, kNan, kNan, -kInf}));
  CHECK(same(of(sqrt(x)), {kInf, kNan, kNan, 0}));
  CHECK(same(of(tanh(x)), {1, -1, kNan, 0}));
  CHECK(same(of(sigmoid(x)), {1, 0, kNan, 0.5}));
  CHECK(same(of(erf(x)), {1, -1, kNan, 0}));
  CHECK(same(of(clamp(x, -1, 1)), {1, -1, kNan, 0}));
  CHECK(same(of(sign(x)), {1, -1, kNan, 0}));
  CHECK(std::signbit(of(negative(x))[3]));
  CHECK(of(round(tensor({0.5, 1.5, 2.5, -0.5}, Dtype::f64))) == List{0, 2, 2, 0});  // ties to even
}

TEST_CASE("arithmetic: maximum and minimum return NaN, which receives the gradient") {
  const Tensor a = leaf({kNan, 1, kNan, 1}), b = leaf({1, kNan, kNan, 2});
  for (const bool larger : {true, false}) {
    const Tensor y = larger ? maximum(a, b) : minimum(a, b);
    const List v = y.to_vector<double>();
    CHECK((std::isnan(v[0]) && std::isnan(v[1]) && std::isnan(v[2])));
    CHECK(v[3] == (larger ? 2 : 1));
    const std::vector<Tensor> d = grad({y}, {a, b}, {ones({4}, Dtype::f64)});
    CHECK(d[0].to_vector<double>() == List{1, 0, 1, larger ? 0.0 : 1.0});
    CHECK(d[1].to_vector<double>() == List{0, 1, 0, larger ? 1.0 : 0.0});
  }
}

TEST_CASE("arithmetic: integers add, subtract and multiply, and division rejects them") {
  const Tensor a = indices({7, -3, 1LL << 60}), b = indices({2, 5, 3});
  using Ints = std::vector<std::int64_t>;
  CHECK((a + b).to_vector<std::int64_t>() == Ints{9, 2, (1LL << 60) + 3});
  CHECK((a - b).to_vector<std::int64_t>() == Ints{5, -8, (1LL << 60) - 3});
  CHECK((a * b).to_vector<std::int64_t>() == Ints{14, -15, 3 * (1LL << 60)});
  CHECK((2.0 * b).to_vector<std::int64_t>() == Ints{4, 10, 6});
  CHECK((10.0 - b).to_vector<std::int64_t>() == Ints{8, 5, 7});
  CHECK(sum_to(a, {1}).to_vector<std::int64_t>() == Ints{(1LL << 60) + 4});
  CHECK_THROWS_AS(a / b, DtypeError);
  CHECK_THROWS_AS(exp(a), DtypeError);
  CHECK_THROWS_AS(pow(a, b), DtypeError);
  const std::string message = message_of<DtypeError>([&] { b * 2.5; });
  CHECK(has(message, "scale"));
  CHECK(has(message, "2.5"));
  CHECK(has(message, "[3]"));
}

TEST_CASE("arithmetic: to converts the value and the gradient") {
  const Tensor x = tensor({0.1, 2.5, -3}, Dtype::f64).requires_grad_();
  CHECK(to(x, Dtype::f64).node() == x.node());
  const Tensor y = to(x, Dtype::f32);
  CHECK(y.dtype() == Dtype::f32);
  CHECK(y.data<float>()[0] == 0.1f);
  y.backward(tensor({1, 2, 0.1f}, Dtype::f32));
  CHECK(x.grad().dtype() == Dtype::f64);
  CHECK(x.grad().to_vector<double>() == List{1, 2, double{0.1f}});
  CHECK(!to(x, Dtype::i64).requires_grad());
  CHECK(to(x, Dtype::i64).to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 2, -3});
  CHECK(to(indices({0, 2}), Dtype::bool_).to_vector<bool>() == std::vector<bool>{false, true});
  CHECK_THROWS_AS(to(Tensor(), Dtype::f32), ValueError);
}

TEST_CASE("arithmetic: abs, maximum, minimum and where work on integers") {
  using Whole = std::vector<std::int64_t>;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const Tensor x = tensor(Whole{-3, 0, 2, most});  // f64 does not represent 2⁶³ − 1
  CHECK(abs(x).to_vector<std::int64_t>() == Whole{3, 0, 2, most});
  CHECK(maximum(x, -x).to_vector<std::int64_t>() == Whole{3, 0, 2, most});
  CHECK(minimum(x, tensor(Whole{1})).to_vector<std::int64_t>() == Whole{-3, 0, 1, 1});
  CHECK(where(x > 0, x, 7.0).to_vector<std::int64_t>() == Whole{7, 7, 2, most});
  CHECK_THROWS_AS(where(x > 0, Tensor(), 7.0), ValueError);
}

TEST_CASE("arithmetic: a long f32 sum is accurate") {
  const std::int64_t n = 1 << 20;
  const Tensor x = noise({n, 3});
  List exact(3, 0.0);
  double magnitude = 0;
  for (std::int64_t i = 0; i < 3 * n; ++i) {
    exact[static_cast<std::size_t>(i % 3)] += double{x.data<float>()[i]};
    magnitude += std::abs(double{x.data<float>()[i]});
  }
  // Each element passes through at most 1418 additions: a quarter of 5461 rows, then 193 partial
  // sums. Each addition rounds by half an ulp (2⁻²⁴) of the partial sum. With random signs, the
  // total error is below a twentieth of the bound.
  const double bound = 1418 * 0x1p-24 * magnitude / 3;
  const Tensor rows = sum_to(x, {3});
  for (std::int64_t c = 0; c < 3; ++c)
    CHECK(std::abs(double{rows.data<float>()[c]} - exact[static_cast<std::size_t>(c)]) <
          bound / 20);
  CHECK(std::abs(sum_to(x, {}).item() - (exact[0] + exact[1] + exact[2])) < bound / 20);
}

}  // namespace gradus::testing::test_arithmetic
