// The skeleton of operations on one tensor, element by element: y = Self::of(x). A class of its own
// stays for each, with its name and its backward, where breakpoints find them.
#pragma once

#include "gradus/engine/apply.h"
#include "gradus/ops/create.h"
#include "gradus/ops/kernels/map.h"

namespace gradus::op {

/// Remembers x: the derivative is written in it.
template <class Self>
struct OfInput : Op {
  Saved x;
  Tensor forward(const Tensor& input) {
    x = input;
    return map(name(), input, [](auto v) { return Self::of(v); });
  }
};

/// Remembers y.
template <class Self>
struct OfOutput : Op {
  Saved y;
  Tensor forward(const Tensor& x) {
    Tensor result = map(name(), x, [](auto v) { return Self::of(v); });
    y = result;
    return result;
  }
};

/// Flat between jumps: the derivative is 0.
template <class Self>
struct Steps : Op {
  Tensor forward(const Tensor& x) {
    return map(name(), x, [](auto v) { return Self::of(v); });
  }
  Gradients backward(const Tensor& dy, const Wanted&) override { return {zeros_like(dy)}; }
};

}  // namespace gradus::op
