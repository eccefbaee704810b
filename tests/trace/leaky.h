// A module with parameters that do not affect the loss.
#pragma once

#include "gradus/engine/grad_mode.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/module.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/sort.h"

namespace gradus::testing {

struct Leaky : nn::Layer<Leaky> {
  nn::Linear up{2, 3}, down{3, 2};
  Tensor detached = nn::parameter(ones({2}));    // its user calls detach()
  Tensor unrecorded = nn::parameter(ones({2}));  // used under NoGrad
  Tensor compared = nn::parameter(ones({2}));    // used only in argmax
  Tensor dropped = nn::parameter(ones({2}));     // its result is discarded
  Tensor unused = nn::parameter(ones({2}));
  nn::Members members() override {
    return {{"up", up},
            {"down", down},
            {"detached", detached},
            {"unrecorded", unrecorded},
            {"compared", compared},
            {"dropped", dropped},
            {"unused", unused}};
  }
  Tensor forward(const Tensor& x) const {  // [N, 2] → [N, 2]
    const Tensor y = down(tanh(up(x)));
    const Tensor twice = (detached * 2.0).detach();
    const Tensor square_of = [&] {
      const NoGrad off;
      return unrecorded * unrecorded;
    }();
    argmax(compared, 0);
    dropped * 2.0;
    return twice * y + square_of;
  }
};

inline Tensor leaky_loss(const Leaky& m) { return mean(square(m(ones({4, 2})))); }

}  // namespace gradus::testing
