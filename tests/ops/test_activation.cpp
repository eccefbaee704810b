#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "gradus/engine/backward.h"
#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_activation {
namespace {

using List = std::vector<double>;
using Function = std::function<Tensor(const Tensor&)>;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor gelu_erf(const Tensor& x) { return gelu(x, Gelu::erf); }
Tensor gelu_tanh(const Tensor& x) { return gelu(x, Gelu::tanh); }

List slope(const Function& f, std::initializer_list<double> at, Dtype dtype = Dtype::f64) {
  const Tensor x = tensor(at, dtype).requires_grad_();
  f(x).backward(ones_like(x));
  return x.grad().to(Dtype::f64).to_vector<double>();
}

}  // namespace

TEST_CASE("activation: second derivatives of relu and leaky_relu are 0") {
  const Tensor x = tensor({-2, 3}, Dtype::f64).requires_grad_();
  for (const Function& f :
       {Function(relu), Function([](const Tensor& v) { return leaky_relu(v); })}) {
    const Tensor y = f(x) * x;  // the second derivative of y is 2 f'(x)
    const Tensor dx = grad({y}, {x}, {ones_like(x)}, {.create_graph = true})[0];
    const List d2 = grad({dx}, {x}, {ones_like(x)})[0].to_vector<double>();
    CHECK(d2[1] == 2);
    CHECK(std::abs(d2[0]) <= 0.02);
  }
}

TEST_CASE("activation: large and infinite inputs give the limits") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const Tensor x = tensor({-kInf, -1e4, 1e4, kInf}, dtype);
    for (const Function& f :
         {Function(relu), Function(silu), Function(gelu_tanh), Function(gelu_erf)})
      CHECK(f(x).to(Dtype::f64).to_vector<double>() == List{0, 0, 1e4, kInf});
    CHECK(slope(softplus, {0}, dtype) == List{0.5});
    CHECK(softplus(x).to(Dtype::f64).to_vector<double>() == List{0, 0, 1e4, kInf});
    CHECK(elu(x, 2).to(Dtype::f64).to_vector<double>() == List{-2, -2, 1e4, kInf});
    for (const Function& f :
         {Function(relu), Function(silu), Function(gelu_tanh), Function(gelu_erf),
          Function(softplus), Function([](const Tensor& v) { return elu(v); })})
      CHECK(slope(f, {-kInf, -1e4, 1e4, kInf}, dtype) == List{0, 0, 1, 1});
  }
}

TEST_CASE("activation: second derivatives of large inputs are 0") {
  const Tensor x = tensor({-1e4, 1e4}, Dtype::f64).requires_grad_();
  for (const Function& f : {Function(silu), Function(gelu_tanh), Function(gelu_erf),
                            Function(softplus), Function([](const Tensor& v) { return elu(v); })}) {
    const Tensor dx = grad({f(x)}, {x}, {ones_like(x)}, {.create_graph = true})[0];
    CHECK(grad({dx}, {x}, {ones_like(x)})[0].to_vector<double>() == List{0, 0});
  }
}

TEST_CASE("activation: NaN stays NaN") {
  const Tensor x = tensor({kNan, kNan, 1});
  for (const Tensor& y : {relu(x), leaky_relu(x), elu(x), softplus(x), silu(x), gelu(x),
                          gelu_erf(x), swiglu(x, ones({3})), swiglu(ones({3}), x)}) {
    CHECK(std::isnan(y.data<float>()[0]));
    CHECK(std::isnan(y.data<float>()[1]));
    CHECK(std::isfinite(y.data<float>()[2]));
  }
}

TEST_CASE("activation: a gradient in a reused buffer is outside the graph") {
  const Tensor x = tensor({1, -2, 3}).requires_grad_();
  int seen = 0;
  const auto activated = [&](const std::function<Tensor(const Tensor&)>& f) {
    const Tensor twice = x * 2.0;  // the backward pass is the last user of `twice`
    twice.register_hook([&](const Tensor& dy) {
      ++seen;
      CHECK(!dy.requires_grad());
      return dy;
    });
    return sum(f(twice));
  };
  activated([](const Tensor& in) { return silu(in); }).backward();
  activated([](const Tensor& in) { return relu(in); }).backward();
  CHECK(seen == 2);
}

TEST_CASE("activation: a second backward through a kept graph gives the same gradients") {
  Tensor x = tensor({-1, 0.5, 2}).requires_grad_();
  for (const Function& f : {Function(silu), Function(gelu_tanh), Function(gelu_erf), Function(relu),
                            Function([](const Tensor& v) { return swiglu(v, 3.0 * v); })}) {
    const Tensor y = f(2.0 * x), dy = tensor({1, -2, 3});
    y.backward(dy, {.keep_graph = true});
    const std::vector<float> once = x.grad().to_vector<float>();
    x.set_grad({});
    y.backward(dy);
    CHECK(x.grad().to_vector<float>() == once);
    CHECK(dy.to_vector<float>() == std::vector<float>{1, -2, 3});
    x.set_grad({});
  }
}

}  // namespace gradus::testing::test_activation
