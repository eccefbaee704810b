// Dropout as a layer: acts while training, hands its input on otherwise.
#pragma once

#include "gradus/nn/module.h"

namespace gradus::nn {

/// Each element 0 with probability p, else divided by 1 − p; x itself after eval(). Any shape.
/// ValueError unless 0 ≤ p < 1. Srivastava et al. 2014.
class Dropout : public Layer<Dropout> {
 public:
  explicit Dropout(double p);
  Tensor forward(Tensor x) const;
  Members members() override { return {}; }
  Dropout same_architecture() const { return Dropout(p); }

  double p;
};

}  // namespace gradus::nn
