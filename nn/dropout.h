#pragma once

#include <utility>

#include "gradus/nn/module.h"
#include "gradus/ops/dropout.h"

namespace gradus::nn {

/// Zeroes each element with probability p and divides the others by 1 − p. Identity after eval().
/// Throws ValueError unless 0 ≤ p < 1. Srivastava et al. 2014.
class Dropout : public Layer<Dropout> {
 public:
  explicit Dropout(double probability) : p(probability) {
    require(0 <= p && p < 1, "Dropout: the probability must be in [0, 1), got ", p);
  }
  Tensor forward(Tensor x) const { return dropout(std::move(x), p, training()); }
  Members members() override { return {}; }
  Dropout same_architecture() const { return Dropout(p); }

  double p;
};

}  // namespace gradus::nn
