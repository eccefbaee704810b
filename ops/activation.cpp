// Activations, element by element.
//
//   relu        y = max(x, 0)                       dx = y > 0 ? dy : 0
//   leaky_relu  y = x > 0 ? x : a x                 dx = x > 0 ? dy : a dy
//   elu         y = x > 0 ? x : a (eˣ − 1)          dx = x > 0 ? dy : a eˣ dy
//   softplus    y = log(1 + eˣ)                     dx = s(x) dy            s(x) = 1 / (1 + e⁻ˣ)
//   glu         y = a s(b), a and b the halves of x: no operation of its own
//
// relu remembers y, which whatever follows it remembers too; the others x. gelu.cpp has silu, gelu
// and swiglu.

#include "gradus/ops/activation.h"

#include <cmath>

#include "gradus/base/vmath.h"
#include "gradus/engine/apply.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/kernels/map.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {
namespace op {

struct Relu final : Op {
  Saved y;

  const char* name() const override { return "relu"; }

  Tensor forward(const Tensor& x) {
    Tensor result = map(name(), x, [](auto v) { return v < 0 ? decltype(v)(0) : v; });  // NaN stays
    y = result;
    return result;
  }

  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    if (GradMode::enabled()) return {masked_fill(dy, less_equal(y.value(), 0), 0)};
    return {zip_backward(name(), y.take(wants), dy,
                         [](auto v, auto d) { return v <= 0 ? decltype(d)(0) : d; })};
  }
};

struct LeakyRelu final : Op {
  Saved x;
  double slope;

  explicit LeakyRelu(double slope) : slope(slope) {}
  const char* name() const override { return "leaky_relu"; }

  Tensor forward(const Tensor& input) {
    x = input;
    return map(name(), input, [a = slope](auto v) { return v > 0 ? v : decltype(v)(a) * v; });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override {
    return {where(greater(x.value(), 0), dy, scale(dy, slope))};
  }
};

struct Elu final : Op {
  Saved x;
  double alpha;

  explicit Elu(double alpha) : alpha(alpha) {}
  const char* name() const override { return "elu"; }

  Tensor forward(const Tensor& input) {
    x = input;
    return map(name(), input,
               [a = alpha](auto v) { return v > 0 ? v : decltype(v)(a) * vmath::expm1(v); });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override {
    const Tensor at = x.value();
    const Tensor positive = greater(at, 0);
    const Tensor below =
        masked_fill(at, positive, 0);  // where e^x is not wanted it must not overflow
    return {where(positive, dy, dy * scale(exp(below), alpha))};
  }
};

struct Softplus final : Op {
  Saved x;

  const char* name() const override { return "softplus"; }

  Tensor forward(const Tensor& input) {
    x = input;
    // max(x, 0) + log(1 + e^−|x|), in two passes: g++ vectorises no logarithm of an exponential.
    const Tensor e = map(name(), input, [](auto v) { return vmath::exp(-std::abs(v)); });
    return zip(name(), input, e,
               [](auto v, auto u) { return (v > 0 ? v : decltype(v)(0)) + vmath::log1p(u); });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override { return {dy * sigmoid(x.value())}; }
};

}  // namespace op

Tensor relu(const Tensor& x) { return apply(op::Relu{}, x); }
Tensor leaky_relu(const Tensor& x, double slope) { return apply(op::LeakyRelu{slope}, x); }
Tensor elu(const Tensor& x, double alpha) { return apply(op::Elu{alpha}, x); }

Tensor softplus(const Tensor& x) {
  if (formula_wanted()) return logsumexp(stack({x, zeros_like(x)}), {0});  // log(eˣ + e⁰)
  return apply(op::Softplus{}, x);
}

Tensor glu(const Tensor& x, int axis) {
  check_defined("glu", x);
  axis = normal_axis("glu", axis, x.rank());
  const std::int64_t n = x.shape()[axis];
  require<ShapeError>(n % 2 == 0, "glu: axis ", axis, " of ", x.shape(), " has ", n,
                      " elements and cannot be halved: its size must be even");
  return slice(x, axis, 0, n / 2) * sigmoid(slice(x, axis, n / 2, n));
}

}  // namespace gradus
