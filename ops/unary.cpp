// Exponentials, waves and steps, element by element; declared in arithmetic.h. Each remembers its
// input x or its output y, whichever its derivative is written in.

#include <cmath>

#include "gradus/base/vmath.h"
#include "gradus/engine/apply.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/kernels/map.h"
#include "gradus/ops/logic.h"

namespace gradus {
namespace op {

struct Exp final : Op {  // y = eˣ,  dx = dy · y
  Saved y;

  const char* name() const override { return "exp"; }

  Tensor forward(const Tensor& x) {
    Tensor result = map(name(), x, [](auto v) { return vmath::exp(v); });
    y = result;
    return result;
  }

  Gradients backward(const Tensor& dy, const Wanted&) override { return {dy * attached(y)}; }
};

struct Expm1 final : Op {  // y = eˣ − 1,  dx = dy · eˣ, which y + 1 would round to 0 early
  Saved x;

  const char* name() const override { return "expm1"; }

  Tensor forward(const Tensor& input) {
    x = input;
    return map(name(), input, [](auto v) { return vmath::expm1(v); });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override { return {dy * exp(x.value())}; }
};

struct Log final : Op {  // y = log x,  dx = dy / x
  Saved x;

  const char* name() const override { return "log"; }

  Tensor forward(const Tensor& input) {
    x = input;
    return map(name(), input, [](auto v) { return vmath::log(v); });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override { return {dy / x.value()}; }
};

struct Log1p final : Op {  // y = log(1 + x),  dx = dy / (1 + x)
  Saved x;

  const char* name() const override { return "log1p"; }

  Tensor forward(const Tensor& input) {
    x = input;
    return map(name(), input, [](auto v) { return vmath::log1p(v); });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override { return {dy / (1.0 + x.value())}; }
};

struct Sin final : Op {  // dx = dy · cos x
  Saved x;

  const char* name() const override { return "sin"; }

  Tensor forward(const Tensor& input) {
    x = input;
    return map(name(), input, [](auto v) { return std::sin(v); });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override { return {dy * cos(x.value())}; }
};

struct Cos final : Op {  // dx = −dy · sin x
  Saved x;

  const char* name() const override { return "cos"; }

  Tensor forward(const Tensor& input) {
    x = input;
    return map(name(), input, [](auto v) { return std::cos(v); });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override {
    return {negative(dy * sin(x.value()))};
  }
};

struct Tanh final : Op {  // y = tanh x,  dx = dy · (1 − y²)
  Saved y;

  const char* name() const override { return "tanh"; }

  Tensor forward(const Tensor& x) {
    Tensor result = map(name(), x, [](auto v) { return vmath::tanh(v); });
    y = result;
    return result;
  }

  Gradients backward(const Tensor& dy, const Wanted&) override {
    return {dy * (1.0 - square(attached(y)))};
  }
};

struct Sigmoid final : Op {  // y = 1 / (1 + e⁻ˣ),  dx = dy · y (1 − y)
  Saved y;

  const char* name() const override { return "sigmoid"; }

  Tensor forward(const Tensor& x) {
    Tensor result = map(name(), x, [](auto v) { return vmath::sigmoid(v); });
    y = result;
    return result;
  }

  Gradients backward(const Tensor& dy, const Wanted&) override {
    const Tensor s = attached(y);
    return {dy * (s * (1.0 - s))};
  }
};

struct Erf final : Op {  // dx = dy · 2/√π · exp(−x²)
  Saved x;

  const char* name() const override { return "erf"; }

  Tensor forward(const Tensor& input) {
    x = input;
    return map(name(), input, [](auto v) { return vmath::erf(v); });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override {
    return {dy * scale(exp(negative(square(x.value()))), 1.1283791670955126)};
  }
};

struct Abs final : Op {  // dx = dy · sign x
  Saved x;

  const char* name() const override { return "abs"; }

  Tensor forward(const Tensor& input) {
    x = input;
    return map(name(), input, [](auto v) { return std::abs(v); });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override { return {dy * sign(x.value())}; }
};

struct Clamp final : Op {  // dx = dy on [low, high], 0 outside
  Saved x;
  double low, high;

  Clamp(double low, double high) : low(low), high(high) {}
  const char* name() const override { return "clamp"; }

  Tensor forward(const Tensor& input) {
    x = input;
    return map(name(), input, [l = low, h = high](auto v) {
      using T = decltype(v);
      return v < T(l) ? T(l) : (v > T(h) ? T(h) : v);
    });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override {
    const Tensor at = x.value();
    return {masked_fill(dy, logical_or(less(at, low), greater(at, high)), 0)};
  }
};

// Steps are flat between their jumps: the derivative is 0.

struct Floor final : Op {
  const char* name() const override { return "floor"; }

  Tensor forward(const Tensor& x) {
    return map(name(), x, [](auto v) { return std::floor(v); });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override { return {zeros_like(dy)}; }
};

struct Round final : Op {
  const char* name() const override { return "round"; }

  Tensor forward(const Tensor& x) {
    return map(name(), x, [](auto v) { return std::nearbyint(v); });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override { return {zeros_like(dy)}; }
};

struct Sign final : Op {
  const char* name() const override { return "sign"; }

  Tensor forward(const Tensor& x) {
    return map(name(), x, [](auto v) {
      using T = decltype(v);
      return v > T(0) ? T(1) : (v < T(0) ? T(-1) : v);  // ±0 and NaN stay what they are
    });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override { return {zeros_like(dy)}; }
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
Tensor abs(const Tensor& x) { return apply(op::Abs{}, x); }
Tensor floor(const Tensor& x) { return apply(op::Floor{}, x); }
Tensor round(const Tensor& x) { return apply(op::Round{}, x); }
Tensor sign(const Tensor& x) { return apply(op::Sign{}, x); }

Tensor clamp(const Tensor& x, double low, double high) {
  require<ValueError>(low <= high, "clamp: low ", low, " is not below high ", high,
                      ": exchange them");
  return apply(op::Clamp{low, high}, x);
}

}  // namespace gradus
