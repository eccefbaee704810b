// Element-wise exponentials, trigonometric functions, powers and step functions. Each saves x or y,
// whichever its derivative uses.
#include "gradus/ops/unary.h"

#include <cmath>
#include <limits>

#include "gradus/engine/base/vmath.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/kernels/elementwise.h"
#include "gradus/ops/logic.h"

namespace gradus {
namespace op {

struct Exp final : Unary<Exp, Keeps::output> {  // y = eˣ,  dx = dy · y
  const char* name() const override { return "exp"; }
  static GRADUS_INLINE auto value(auto v) { return vmath::exp(v); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {dy * attached(y)}; }
};

/// y = eˣ − 1,  dx = dy · eˣ. Saves x, because y + 1 would round to 0 too early.
struct Expm1 final : Unary<Expm1, Keeps::input> {
  const char* name() const override { return "expm1"; }
  static GRADUS_INLINE auto value(auto v) { return vmath::expm1(v); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {dy * exp(x.value())}; }
};

struct Log final : Unary<Log, Keeps::input> {  // y = log x,  dx = dy / x
  const char* name() const override { return "log"; }
  static GRADUS_INLINE auto value(auto v) { return vmath::log(v); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {dy / x.value()}; }
};

struct Log1p final : Unary<Log1p, Keeps::input> {  // y = log(1 + x),  dx = dy / (1 + x)
  const char* name() const override { return "log1p"; }
  static GRADUS_INLINE auto value(auto v) { return vmath::log1p(v); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {dy / (1.0 + x.value())};
  }
};

struct Sin final : Unary<Sin, Keeps::input> {  // dx = dy · cos x
  const char* name() const override { return "sin"; }
  static GRADUS_INLINE auto value(auto v) { return vmath::sin(v); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {dy * cos(x.value())}; }
};

struct Cos final : Unary<Cos, Keeps::input> {  // dx = −dy · sin x
  const char* name() const override { return "cos"; }
  static GRADUS_INLINE auto value(auto v) { return vmath::cos(v); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {negative(dy * sin(x.value()))};
  }
};

struct Tanh final : Unary<Tanh, Keeps::output> {  // dx = dy · (1 − y²)
  const char* name() const override { return "tanh"; }
  static GRADUS_INLINE auto value(auto v) { return vmath::tanh(v); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {dy * (1.0 - square(attached(y)))};
  }
};

struct Sigmoid final : Unary<Sigmoid, Keeps::output> {  // y = 1 / (1 + e⁻ˣ),  dx = dy · y (1 − y)
  const char* name() const override { return "sigmoid"; }
  static GRADUS_INLINE auto value(auto v) { return vmath::sigmoid(v); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    const Tensor s = attached(y);
    return {dy * (s * (1.0 - s))};
  }
};

struct Erf final : Unary<Erf, Keeps::input> {  // dx = dy · 2/√π · exp(−x²)
  const char* name() const override { return "erf"; }
  static GRADUS_INLINE auto value(auto v) { return vmath::erf(v); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {dy * scale(exp(negative(square(x.value()))), 1.1283791670955126)};
  }
};

struct Pow final : Unary<Pow, Keeps::input> {  // y = xᶜ,  dx = dy · c xᶜ⁻¹
  double exponent;

  explicit Pow(double exponent) : exponent(exponent) {}
  const char* name() const override { return "pow"; }
  auto function() const {
    return [c = exponent](auto v) { return vmath::pow(v, decltype(v)(c)); };
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    if (exponent == 0) return {scale(dy, 0)};  // 0 · 0⁻¹ would be NaN
    return {dy * scale(pow(x.value(), exponent - 1), exponent)};
  }
};

struct Square final : Unary<Square, Keeps::input> {  // y = x²,  dx = dy · 2x
  const char* name() const override { return "square"; }
  static GRADUS_INLINE auto value(auto v) { return v * v; }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {dy * (2.0 * x.value())};
  }
};

struct Sqrt final : Unary<Sqrt, Keeps::output> {  // y = √x,  dx = dy / 2y
  const char* name() const override { return "sqrt"; }
  static GRADUS_INLINE auto value(auto v) { return std::sqrt(v); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {dy / (2.0 * attached(y))};
  }
};

struct Rsqrt final : Unary<Rsqrt, Keeps::output> {  // y = 1 / √x,  dx = −½ dy · y³
  const char* name() const override { return "rsqrt"; }
  static GRADUS_INLINE auto value(auto v) { return decltype(v)(1) / std::sqrt(v); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    const Tensor root = attached(y);
    return {dy * (-0.5 * root) * square(root)};
  }
};

struct Reciprocal final : Unary<Reciprocal, Keeps::output> {  // y = 1 / x,  dx = −dy · y²
  const char* name() const override { return "reciprocal"; }
  static GRADUS_INLINE auto value(auto v) { return decltype(v)(1) / v; }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {negative(dy * square(attached(y)))};
  }
};

struct Abs final : Unary<Abs, Keeps::input, Numbers::all> {  // dx = dy · sign x
  const char* name() const override { return "abs"; }
  static GRADUS_INLINE auto value(auto v) { return std::abs(v); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {dy * sign(x.value())}; }
};

/// Converts a bound to T. For i64, ±∞ becomes the smallest or largest value.
template <class T>
GRADUS_INLINE T bound_as(double bound) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    if (bound >= 0x1p63) return std::numeric_limits<T>::max();
    if (bound < -0x1p63) return std::numeric_limits<T>::lowest();
  }
  return static_cast<T>(bound);
}

struct Clamp final
    : Unary<Clamp, Keeps::input, Numbers::all> {  // dx = dy on [low, high], 0 outside
  double low, high;

  Clamp(double low, double high) : low(low), high(high) {}
  const char* name() const override { return "clamp"; }
  auto function() const {
    return [l = low, h = high](auto v) {
      using T = decltype(v);
      const T low = bound_as<T>(l), high = bound_as<T>(h);
      return v < low ? low : (v > high ? high : v);
    };
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    const Tensor at = x.value();
    return {masked_fill(dy, logical_or(less(at, low), greater(at, high)), 0)};
  }
};

/// Base of functions whose derivative is 0.
template <class Self>
struct StepFunction : Unary<Self, Keeps::nothing> {
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {zeros_like(dy)}; }
};

struct Floor final : StepFunction<Floor> {
  const char* name() const override { return "floor"; }
  static GRADUS_INLINE auto value(auto v) { return std::floor(v); }
};

struct Round final : StepFunction<Round> {
  const char* name() const override { return "round"; }
  static GRADUS_INLINE auto value(auto v) { return std::nearbyint(v); }
};

struct Sign final : StepFunction<Sign> {
  const char* name() const override { return "sign"; }
  static GRADUS_INLINE auto value(auto v) {
    using T = decltype(v);
    return v > T(0) ? T(1) : (v < T(0) ? T(-1) : v);  // returns ±0 and NaN unchanged
  }
};

}  // namespace op

Tensor exp(const Tensor& x) { return apply(op::Exp{}, x); }
Tensor expm1(const Tensor& x) { return apply(op::Expm1{}, x); }
Tensor log(const Tensor& x) { return apply(op::Log{}, x); }
Tensor log1p(const Tensor& x) { return apply(op::Log1p{}, x); }
Tensor sin(const Tensor& x) { return apply(op::Sin{}, x); }
Tensor cos(const Tensor& x) { return apply(op::Cos{}, x); }
Tensor tanh(const Tensor& x) { return apply(op::Tanh{}, x); }
Tensor sigmoid(const Tensor& x) { return apply(op::Sigmoid{}, x); }
Tensor erf(const Tensor& x) { return apply(op::Erf{}, x); }
Tensor square(const Tensor& x) { return apply(op::Square{}, x); }
Tensor sqrt(const Tensor& x) { return apply(op::Sqrt{}, x); }
Tensor rsqrt(const Tensor& x) { return apply(op::Rsqrt{}, x); }
Tensor reciprocal(const Tensor& x) { return apply(op::Reciprocal{}, x); }
Tensor abs(const Tensor& x) { return apply(op::Abs{}, x); }
Tensor floor(const Tensor& x) { return apply(op::Floor{}, x); }
Tensor round(const Tensor& x) { return apply(op::Round{}, x); }
Tensor sign(const Tensor& x) { return apply(op::Sign{}, x); }

Tensor pow(const Tensor& x, double exponent) {
  if (exponent == 2) return square(x);  // fast path
  return apply(op::Pow{exponent}, x);
}

Tensor clamp(const Tensor& x, double low, double high) {
  require<ValueError>(low <= high, "clamp: low must not be above high, got ", low, " and ", high);
  for (const double bound : {low, high})
    require<DtypeError>(x.dtype() != Dtype::i64 || bound == std::trunc(bound),
                        "clamp: an i64 tensor needs integer bounds, got ", bound,
                        ". Convert with to(x, Dtype::f32).");
  return apply(op::Clamp{low, high}, x);
}

}  // namespace gradus
