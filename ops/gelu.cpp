// Activations that are smooth steps times their input; declared in activation.h.
//
//   silu       y = x s(x)            dx = s (1 + x (1 − s)) dy     s(x) = 1 / (1 + e⁻ˣ)
//   gelu erf   y = x Φ(x)            dx = (Φ + x φ) dy             φ = Φ' = e^(−x²/2) / √2π
//   gelu tanh  y = x/2 (1 + t)       dx = ((1 + t)/2 + x/2 (1 − t²) u') dy
//               t = tanh u,  u = √(2/π) (x + 0.044715 x³)
//   swiglu     y = silu(g) x         dg = silu'(g) x dy            dx = silu(g) dy
//
// Each remembers its inputs. What follows it need not keep y, for that is made again backward; and
// the gradients are written into the remembered inputs, where nobody else needs those any more.

#include "gradus/base/vmath.h"
#include "gradus/engine/apply.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/kernels/map.h"

namespace gradus {
namespace {

Tensor silu_formula(const Tensor& x) { return x * sigmoid(x); }

Tensor silu_slope(const Tensor& x) {
  const Tensor s = sigmoid(x);
  return s * (1.0 + x * (1.0 - s));
}

constexpr double kTanhScale = 0.7978845608028654;  // √(2/π)
constexpr double kTanhCubic = 0.044715;
constexpr double kInverseSqrt2 = 0.7071067811865476;
constexpr double kInverseSqrt2Pi = 0.3989422804014327;

/// tanh u of gelu's approximation.
Tensor gelu_tanh_inner(const Tensor& x) {
  return tanh(kTanhScale * (x + kTanhCubic * (x * square(x))));
}

Tensor gelu_formula(const Tensor& x, Gelu form) {
  const Tensor inner = form == Gelu::tanh ? gelu_tanh_inner(x) : erf(kInverseSqrt2 * x);
  return (0.5 * x) * (1.0 + inner);
}

Tensor gelu_slope(const Tensor& x, Gelu form) {
  if (form == Gelu::erf) {
    const Tensor density = kInverseSqrt2Pi * exp(-0.5 * square(x));
    return 0.5 * (1.0 + erf(kInverseSqrt2 * x)) + x * density;
  }
  const Tensor t = gelu_tanh_inner(x);
  const Tensor du = kTanhScale * (1.0 + 3.0 * kTanhCubic * square(x));
  return 0.5 * (1.0 + t) + (0.5 * x) * (1.0 - square(t)) * du;
}

template <class T>
GRADUS_INLINE void swiglu_row_backward(const T* g, std::int64_t g_step, const T* x,
                                       std::int64_t x_step, const T* dy, std::int64_t dy_step,
                                       T* dg, T* dx, std::int64_t n) {
  if (g_step != 1 || x_step != 1 || dy_step != 1) {
    for (std::int64_t i = 0; i < n; ++i) {
      const T gate = g[i * g_step], up = x[i * x_step], d = dy[i * dy_step];
      dg[i] = d * up * vmath::silu_derivative(gate);
      dx[i] = d * vmath::silu(gate);
    }
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const T gate = g[i], up = x[i], d = dy[i];  // read first: dg and dx may stand in their places
    dg[i] = d * up * vmath::silu_derivative(gate);
    dx[i] = d * vmath::silu(gate);
  }
}

}  // namespace

namespace op {

/// Keeps x. What it makes of it is cheaper to compute again than to keep.
struct SmoothActivation : Op {
  Saved x;

  virtual Tensor activate(const Tensor& input) const = 0;

  Tensor forward(const Tensor& input) {
    x = input;
    return activate(input);
  }

  bool is_recomputable() const override { return x.is_stored(); }
  Tensor recompute() const override { return activate(x.value()); }
};

struct Silu final : SmoothActivation {
  const char* name() const override { return "silu"; }

  Tensor activate(const Tensor& input) const override {
    return map(name(), input, [](auto v) { return vmath::silu(v); });
  }

  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    if (GradMode::enabled()) return {dy * silu_slope(x.value())};
    return {zip_backward(name(), x.take(wants), dy,
                         [](auto v, auto d) { return d * vmath::silu_derivative(v); })};
  }
};

struct GeluTanh final : SmoothActivation {
  const char* name() const override { return "gelu"; }

  Tensor activate(const Tensor& input) const override {
    return map(name(), input, [](auto v) { return vmath::gelu_tanh(v); });
  }

  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    if (GradMode::enabled()) return {dy * gelu_slope(x.value(), Gelu::tanh)};
    return {zip_backward(name(), x.take(wants), dy,
                         [](auto v, auto d) { return d * vmath::gelu_tanh_derivative(v); })};
  }
};

struct GeluErf final : SmoothActivation {
  const char* name() const override { return "gelu_erf"; }

  Tensor activate(const Tensor& input) const override {
    return map(name(), input, [](auto v) { return vmath::gelu_erf(v); });
  }

  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    if (GradMode::enabled()) return {dy * gelu_slope(x.value(), Gelu::erf)};
    return {zip_backward(name(), x.take(wants), dy,
                         [](auto v, auto d) { return d * vmath::gelu_erf_derivative(v); })};
  }
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

  bool is_recomputable() const override { return gate.is_stored() && x.is_stored(); }
  Tensor recompute() const override { return activate(gate.value(), x.value()); }

  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    if (GradMode::enabled()) {
      const Tensor g = gate.value(), up = x.value();
      return {dy * up * silu_slope(g), dy * silu_formula(g)};
    }
    return kernel_backward(gate.take(wants), x.take(wants), dy);
  }

  Gradients kernel_backward(const Tensor& g, const Tensor& up, const Tensor& dy) const {
    Tensor dg = reuse_or_empty(g), dx = reuse_or_empty(up);
    const Strides strides[] = {g.strides(), up.strides(), dy.strides(), dg.strides()};
    dispatch_float(name(), g.dtype(), [&]<class T>() {
      const T *from_g = g.data<T>(), *from_x = up.data<T>(), *from_dy = dy.data<T>();
      T *to_g = dg.mutable_data<T>(), *to_x = dx.mutable_data<T>();
      for_each_row(g.shape(), strides, [&](const Offsets& at, std::int64_t n, const Offsets& step) {
        simd::run<swiglu_row_backward<T>>(from_g + at[0], step[0], from_x + at[1], step[1],
                                          from_dy + at[2], step[2], to_g + at[3], to_x + at[3], n);
      });
    });
    return {dg, dx};
  }
};

}  // namespace op

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
                      x.shape(), ": the shapes must be equal");
  if (formula_wanted()) return silu_formula(gate) * x;
  return apply(op::Swiglu{}, gate, x);
}

}  // namespace gradus
