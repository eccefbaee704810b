// Element-wise activations.
//
//   relu        y = max(x, 0)                       dx = y > 0 ? dy : 0
//   leaky_relu  y = x > 0 ? x : a x                 dx = x > 0 ? dy : a dy
//   elu         y = x > 0 ? x : a (eˣ − 1)          dx = x > 0 ? dy : a eˣ dy
//   softplus    y = log(1 + eˣ)                     dx = s(x) dy            s(x) = 1 / (1 + e⁻ˣ)
//   silu        y = x s(x)                          dx = s (1 + x (1 − s)) dy
//   gelu erf    y = x Φ(x)                          dx = (Φ + x φ) dy      φ = Φ' = e^(−x²/2) / √2π
//   gelu tanh   y = x/2 (1 + t)                     dx = ((1 + t)/2 + x/2 (1 − t²) u') dy
//                 t = tanh u,  u = √(2/π) (x + 0.044715 x³)
//   swiglu      y = silu(g) x                       dg = silu'(g) x dy      dx = silu(g) dy
//   glu         y = a s(b), a and b the halves of x: composed
//
// relu saves y, which the next op usually saves too; the others save x. Consumers recompute the
// outputs of silu, gelu and swiglu instead of saving them. The gradients of these three ops
// overwrite the saved inputs if those are unshared.
#include "gradus/ops/activation.h"

#include <cmath>

#include "gradus/engine/apply.h"
#include "gradus/engine/base/vmath.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/kernels/elementwise.h"
#include "gradus/ops/kernels/rows.h"
#include "gradus/ops/kernels/through_formula.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {
namespace {

Tensor silu_formula(const Tensor& x) { return x * sigmoid(x); }

constexpr double kTanhScale = 0.7978845608028654;  // √(2/π)
constexpr double kTanhCubic = 0.044715;
constexpr double kInverseSqrt2 = 0.7071067811865476;

Tensor gelu_formula(const Tensor& x, Gelu form) {
  const Tensor inner = form == Gelu::tanh ? tanh(kTanhScale * (x + kTanhCubic * (x * square(x))))
                                          : erf(kInverseSqrt2 * x);
  return (0.5 * x) * (1.0 + inner);
}

template <class T>
GRADUS_INLINE void swiglu_row_backward(StridedRow<T> gates, StridedRow<T> ups, StridedRow<T> dys,
                                       T* dg, T* dx, std::int64_t n) {
  const T *g = gates.data, *x = ups.data, *dy = dys.data;
  const auto loop = [=](auto g_step, auto x_step, auto dy_step) {
    for (std::int64_t i = 0; i < n; ++i) {  // read first: dg and dx may overwrite g and x
      const T gate = g[i * g_step], up = x[i * x_step], d = dy[i * dy_step];
      dg[i] = d * up * vmath::silu_derivative(gate);
      dx[i] = d * vmath::silu(gate);
    }
  };
  constexpr std::integral_constant<std::int64_t, 1> kOne{};
  if (gates.stride == 1 && ups.stride == 1 && dys.stride == 1)  // fast path: vectorizes
    loop(kOne, kOne, kOne);
  else
    loop(gates.stride, ups.stride, dys.stride);
}

}  // namespace

namespace op {

struct Relu final : Unary<Relu, Keeps::output> {
  const char* name() const override { return "relu"; }
  // NaN is returned unchanged.
  static GRADUS_INLINE auto value(auto v) { return v < 0 ? decltype(v)(0) : v; }
  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    if (GradMode::enabled()) return {masked_fill(dy, less_equal(y.value(), 0), 0)};
    return {zip_backward(name(), y.take(needs_grad), dy,
                         [](auto v, auto d) { return v <= 0 ? decltype(d)(0) : d; })};
  }
};

struct LeakyRelu final : Unary<LeakyRelu, Keeps::input> {
  double slope;

  explicit LeakyRelu(double slope) : slope(slope) {}
  const char* name() const override { return "leaky_relu"; }
  auto function() const {
    return [a = slope](auto v) { return v > 0 ? v : decltype(v)(a) * v; };
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {where(greater(x.value(), 0), dy, scale(dy, slope))};
  }
};

struct Elu final : Unary<Elu, Keeps::input> {
  double alpha;

  explicit Elu(double alpha) : alpha(alpha) {}
  const char* name() const override { return "elu"; }
  auto function() const {
    return [a = alpha](auto v) { return v > 0 ? v : decltype(v)(a) * vmath::expm1(v); };
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    const Tensor at = x.value();
    const Tensor positive = greater(at, 0);
    // Where e^x is unused, it must not overflow.
    const Tensor below = masked_fill(at, positive, 0);
    return {where(positive, dy, dy * scale(exp(below), alpha))};
  }
};

struct Softplus final : Op {
  Saved x;

  const char* name() const override { return "softplus"; }

  Tensor forward(const Tensor& input) {
    x = input;
    // max(x, 0) + log(1 + e^−|x|), in two passes: g++ does not vectorize log of exp.
    const Tensor e = map(name(), input, [](auto v) { return vmath::exp(-std::abs(v)); });
    return zip(name(), input, e,
               [](auto v, auto u) { return (v > 0 ? v : decltype(v)(0)) + vmath::log1p(u); });
  }

  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {dy * sigmoid(x.value())};
  }
};

/// Base of ops whose output is recomputed rather than saved.
template <class Self>
struct SmoothActivation : Unary<Self, Keeps::input> {
  bool is_recomputable() const override { return this->x.is_stored(); }
  Tensor recompute() const override { return map(this->name(), this->x.value(), this->function()); }

  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    if (GradMode::enabled())
      return through_formula(dy, needs_grad, {this->x.value()},
                             [](const std::vector<Tensor>& in) { return Self::formula(in[0]); });
    return {zip_backward(this->name(), this->x.take(needs_grad), dy,
                         [](auto v, auto d) { return d * Self::derivative(v); })};
  }
};

struct Silu final : SmoothActivation<Silu> {
  const char* name() const override { return "silu"; }
  static GRADUS_INLINE auto value(auto v) { return vmath::silu(v); }
  static GRADUS_INLINE auto derivative(auto v) { return vmath::silu_derivative(v); }
  static Tensor formula(const Tensor& x) { return silu_formula(x); }
};

struct GeluTanh final : SmoothActivation<GeluTanh> {
  const char* name() const override { return "gelu"; }
  static GRADUS_INLINE auto value(auto v) { return vmath::gelu_tanh(v); }
  static GRADUS_INLINE auto derivative(auto v) { return vmath::gelu_tanh_derivative(v); }
  static Tensor formula(const Tensor& x) { return gelu_formula(x, Gelu::tanh); }
};

struct GeluErf final : SmoothActivation<GeluErf> {
  const char* name() const override { return "gelu_erf"; }
  static GRADUS_INLINE auto value(auto v) { return vmath::gelu_erf(v); }
  static GRADUS_INLINE auto derivative(auto v) { return vmath::gelu_erf_derivative(v); }
  static Tensor formula(const Tensor& x) { return gelu_formula(x, Gelu::erf); }
};

struct Swiglu final : Op {
  Saved gate, x;

  const char* name() const override { return "swiglu"; }

  Tensor forward(const Tensor& g, const Tensor& input) {
    gate = g;
    x = input;
    return activate(g, input);
  }

  Tensor activate(const Tensor& g, const Tensor& input) const {
    return zip(name(), g, input, [](auto u, auto v) { return vmath::silu(u) * v; });
  }

  // Requires stored inputs, because a chain of ops would otherwise be recomputed.
  bool is_recomputable() const override { return gate.is_stored() && x.is_stored(); }
  Tensor recompute() const override { return activate(gate.value(), x.value()); }

  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    if (GradMode::enabled())
      return through_formula(
          dy, needs_grad, {gate.value(), x.value()},
          [](const std::vector<Tensor>& in) { return silu_formula(in[0]) * in[1]; });
    return kernel_backward(gate.take(needs_grad), x.take(needs_grad), dy);
  }

  Gradients kernel_backward(const Tensor& g, const Tensor& up, const Tensor& dy) const {
    Tensor dg = reuse_or_empty(g), dx = reuse_or_empty(up);
    const Strides strides[] = {g.strides(), up.strides(), dy.strides(), dg.strides()};
    dispatch_float(name(), g.dtype(), [&]<class T>() {
      const T *from_g = g.data<T>(), *from_x = up.data<T>(), *from_dy = dy.data<T>();
      T *to_g = dg.mutable_data<T>(), *to_x = dx.mutable_data<T>();
      for_each_row(g.shape(), strides, [&](const Offsets& at, std::int64_t n, const Offsets& step) {
        const StridedRow<T> gates{from_g + at[0], step[0]}, ups{from_x + at[1], step[1]},
            dys{from_dy + at[2], step[2]};
        simd::run<swiglu_row_backward<T>>(gates, ups, dys, to_g + at[3], to_x + at[3], n);
      });
    });
    return {dg, dx};
  }
};

}  // namespace op

Tensor relu(const Tensor& x) { return apply(op::Relu{}, x); }
Tensor leaky_relu(const Tensor& x, double slope) { return apply(op::LeakyRelu{slope}, x); }
Tensor elu(const Tensor& x, double alpha) { return apply(op::Elu{alpha}, x); }

Tensor softplus(const Tensor& x) {
  if (formula_wanted()) return logsumexp(stack({x, zeros_like(x)}), {0});  // log(eˣ + e⁰)
  return apply(op::Softplus{}, x);
}

Tensor silu(const Tensor& x) {
  if (formula_wanted()) return silu_formula(x);
  return apply(op::Silu{}, x);
}

Tensor gelu(const Tensor& x, Gelu form) {
  if (formula_wanted()) return gelu_formula(x, form);
  return form == Gelu::tanh ? apply(op::GeluTanh{}, x) : apply(op::GeluErf{}, x);
}

Tensor swiglu(const Tensor& gate, const Tensor& x) {
  check_pair("swiglu", gate, x);
  require<ShapeError>(gate.shape() == x.shape(), "swiglu: the gate is ", gate.shape(), " but x ",
                      x.shape(), ". Their shapes must be equal.");
  if (formula_wanted()) return silu_formula(gate) * x;
  return apply(op::Swiglu{}, gate, x);
}

Tensor glu(const Tensor& x, int axis) {
  axis = check_axis("glu", x, axis);
  const std::int64_t n = x.shape()[axis];
  require<ShapeError>(n % 2 == 0, "glu: axis ", axis, " of ", x.shape(), " has ", n,
                      " elements. Pass an axis with an even number of elements.");
  return slice(x, axis, 0, n / 2) * sigmoid(slice(x, axis, n / 2, n));
}

}  // namespace gradus
