// Dropout with counter-based masks: nothing is stored but the number of a random stream.
#pragma once

#include "gradus/engine/base/random.h"
#include "gradus/engine/tensor.h"

namespace gradus {

/// Each element is 0 with probability p, else x / (1 − p). x itself where p = 0 or not training.
/// ValueError unless 0 ≤ p < 1. Srivastava et al. 2014. The mask is a function of the stream drawn
/// from generator() and of the element's logical index, so any thread count gives the same. A
/// temporary x is written over.
Tensor dropout(Tensor x, double p, bool training = true);

/// For operations that contain a dropout: element `index` is kept if word(index) ≥ threshold.
struct DropoutMask {
  RandomStream stream;
  std::uint32_t threshold = 0;  // p · 2³²
  double scale = 1;             // 1 / (1 − p)
  bool keeps(std::int64_t index) const { return stream.word(index) >= threshold; }
};
DropoutMask make_dropout_mask(double p);                   // draws a stream
Tensor dropout(const Tensor& x, const DropoutMask& mask);  // with this mask

}  // namespace gradus
