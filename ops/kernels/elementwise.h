// Base classes of element-wise ops. A derived op adds a name, a function of one or two values, and
// its derivative:
//
//   struct Tanh final : Unary<Tanh, Keeps::output> {  // dx = dy · (1 − y²)
//     const char* name() const override { return "tanh"; }
//     static GRADUS_INLINE auto value(auto v) { return vmath::tanh(v); }
//     Gradients backward(const Tensor& dy, const NeedsGrad&) override {
//       return {dy * (1.0 - square(attached(y)))};
//     }
//   };
#pragma once

#include "gradus/engine/apply.h"
#include "gradus/ops/kernels/map.h"

namespace gradus::op {

enum class Keeps { nothing, input, output };  // tensor saved for backward

template <Keeps kKeeps>
struct Kept {};
template <>
struct Kept<Keeps::input> {
  Saved x;
};
template <>
struct Kept<Keeps::output> {
  Saved y;
};

/// y = Self::value(x). Ops with parameters override function() and capture them.
template <class Self, Keeps kKeeps, Numbers kNumbers = Numbers::floats>
struct Unary : Op, Kept<kKeeps> {
  static auto function() {
    return [](auto v) { return Self::value(v); };
  }

  Tensor forward(const Tensor& x) {
    Tensor y = map<kNumbers>(name(), x, static_cast<const Self&>(*this).function());
    if constexpr (kKeeps == Keeps::input) this->x = x;
    if constexpr (kKeeps == Keeps::output) this->y = y;
    return y;
  }
};

/// y = Self::value(a, b), broadcast. Self::keep(a, b, y) saves tensors for backward.
template <class Self, Numbers kNumbers = Numbers::floats>
struct Binary : Op {
  Tensor forward(const Tensor& a, const Tensor& b) {
    Tensor y = zip<kNumbers>(name(), a, b, [](auto u, auto v) { return Self::value(u, v); });
    static_cast<Self&>(*this).keep(a, b, y);
    return y;
  }
  void keep(const Tensor&, const Tensor&, const Tensor&) {}
};

}  // namespace gradus::op
