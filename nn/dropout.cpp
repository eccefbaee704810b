// Dropout: the layer knows when, ops/dropout.cpp how.
#include "gradus/nn/dropout.h"

#include <utility>

#include "gradus/ops/dropout.h"

namespace gradus::nn {

Dropout::Dropout(double probability) : p(probability) {
  require(0 <= p && p < 1, "Dropout: the probability ", p, " is not in [0, 1)");
}

Tensor Dropout::forward(Tensor x) const { return dropout(std::move(x), p, training()); }

}  // namespace gradus::nn
