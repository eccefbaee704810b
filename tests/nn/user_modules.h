// Modules as users write them.
#pragma once

#include "gradus/nn/linear.h"
#include "gradus/nn/module.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"

namespace gradus::testing {

using nn::Linear;
using nn::Members;

struct Tiny : nn::Layer<Tiny> {
  Linear up{2, 3}, down{3, 2};
  Tensor gain = nn::parameter(ones({2}));
  Tensor seen = zeros({1});
  Members members() override {
    return {{"up", up}, {"down", down}, {"gain", gain}, {"seen", nn::buffer(seen)}};
  }
  Tensor forward(const Tensor& x) const { return gain * down(tanh(up(x))); }  // [N, 2] → [N, 2]
  Tiny same_architecture() const { return {}; }
};

struct Shared : nn::Layer<Shared> {
  Linear a{2, 2}, b{2, 2};
  Members members() override { return {{"a", a}, {"b", b}}; }
  Tensor forward(const Tensor& x) const { return b(a(x)); }
  Shared same_architecture() const { return {}; }
};

inline Tensor three_rows() { return ones({3, 2}); }

}  // namespace gradus::testing
