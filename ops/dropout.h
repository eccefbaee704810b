#pragma once

#include "gradus/engine/base/random.h"
#include "gradus/engine/tensor.h"

namespace gradus {

/// Zeroes each element with probability p and scales the others by 1 / (1 − p). Returns x if p = 0
/// or not training. The mask depends only on the stream drawn from generator() and the element's
/// index. Overwrites x if it is a temporary. Throws ValueError unless 0 ≤ p < 1. Srivastava et al.
/// 2014.
Tensor dropout(Tensor x, double p, bool training = true);

/// Dropout mask for ops that contain dropout. Keeps element `index` if word(index) ≥ threshold.
struct DropoutMask {
  RandomStream stream;
  std::uint32_t threshold = 0;  // p · 2³²
  double scale = 1;             // 1 / (1 − p)
  bool keeps(std::int64_t index) const { return stream.word(index) >= threshold; }
};
DropoutMask make_dropout_mask(double p);                   // draws a stream from generator()
Tensor dropout(const Tensor& x, const DropoutMask& mask);  // applies a given mask

}  // namespace gradus
