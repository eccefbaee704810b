// Powers and roots, element by element; declared in arithmetic.h.

#include <cmath>

#include "gradus/engine/apply.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/kernels/map.h"
#include "gradus/ops/logic.h"

namespace gradus {
namespace op {

struct Pow final : Op {  // y = xᶜ,  dx = dy · c xᶜ⁻¹
  Saved x;
  double exponent;

  explicit Pow(double exponent) : exponent(exponent) {}
  const char* name() const override { return "pow"; }

  Tensor forward(const Tensor& base) {
    x = base;
    if (exponent == 2)
      return map(name(), base, [](auto v) { return v * v; });  // the usual one, fast
    return map(name(), base, [c = exponent](auto v) { return std::pow(v, decltype(v)(c)); });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override {
    if (exponent == 0) return {scale(dy, 0)};  // 0 · 0⁻¹ would be NaN
    return {dy * scale(pow(x.value(), exponent - 1), exponent)};
  }
};

struct Square final : Op {  // y = x²,  dx = dy · 2x
  Saved x;

  const char* name() const override { return "square"; }

  Tensor forward(const Tensor& input) {
    x = input;
    return map(name(), input, [](auto v) { return v * v; });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override { return {dy * (2.0 * x.value())}; }
};

struct Power final : Op {  // y = xᵉ,  dx = dy · e xᵉ⁻¹,  de = dy · xᵉ log x
  Saved x, e, y;

  const char* name() const override { return "power"; }

  Tensor forward(const Tensor& base, const Tensor& exponent) {
    Tensor result = zip(name(), base, exponent, [](auto u, auto v) { return std::pow(u, v); });
    x = base;
    e = exponent;
    if (exponent.requires_grad()) y = result;
    return result;
  }

  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    const Tensor base = x.value(), exponent = e.value();
    const Tensor at_zero = equal(base, 0.0);
    const Tensor one = ones({}, dy.dtype());
    Gradient dx, de;
    if (wants(0)) {
      // At x = e = 0, where e xᵉ⁻¹ would be 0 · ∞, x⁰ is taken for xᵉ⁻¹.
      const Tensor lowered =
          where(logical_and(at_zero, equal(exponent, 0.0)), exponent, exponent - one);
      dx = dy * exponent * pow(base, lowered);
    }
    if (wants(1)) de = dy * attached(y) * log(where(at_zero, one, base));
    return {dx, de};
  }
};

struct Sqrt final : Op {  // y = √x,  dx = dy / 2y
  Saved y;

  const char* name() const override { return "sqrt"; }

  Tensor forward(const Tensor& x) {
    Tensor result = map(name(), x, [](auto v) { return std::sqrt(v); });
    y = result;
    return result;
  }

  Gradients backward(const Tensor& dy, const Wanted&) override {
    return {dy / (2.0 * attached(y))};
  }
};

struct Rsqrt final : Op {  // y = 1 / √x,  dx = −½ dy · y³
  Saved y;

  const char* name() const override { return "rsqrt"; }

  Tensor forward(const Tensor& x) {
    Tensor result = map(name(), x, [](auto v) { return decltype(v)(1) / std::sqrt(v); });
    y = result;
    return result;
  }

  Gradients backward(const Tensor& dy, const Wanted&) override {
    const Tensor root = attached(y);
    return {dy * (-0.5 * root) * square(root)};
  }
};

struct Reciprocal final : Op {  // y = 1 / x,  dx = −dy · y²
  Saved y;

  const char* name() const override { return "reciprocal"; }

  Tensor forward(const Tensor& x) {
    Tensor result = map(name(), x, [](auto v) { return decltype(v)(1) / v; });
    y = result;
    return result;
  }

  Gradients backward(const Tensor& dy, const Wanted&) override {
    return {negative(dy * square(attached(y)))};
  }
};

}  // namespace op

Tensor pow(const Tensor& x, double exponent) { return apply(op::Pow{exponent}, x); }
Tensor pow(const Tensor& x, const Tensor& exponent) { return apply(op::Power{}, x, exponent); }
Tensor square(const Tensor& x) { return apply(op::Square{}, x); }
Tensor sqrt(const Tensor& x) { return apply(op::Sqrt{}, x); }
Tensor rsqrt(const Tensor& x) { return apply(op::Rsqrt{}, x); }
Tensor reciprocal(const Tensor& x) { return apply(op::Reciprocal{}, x); }

}  // namespace gradus
