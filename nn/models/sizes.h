// How many parameters a model will have, told before it is made. Counts are doubles: no product of
// sizes overflows them, and below 2⁵³ they are exact.
#pragma once

#include "gradus/nn/block.h"

namespace gradus::nn {

/// Of a layer norm: weight and bias, or of an RMS norm: weight.
double norm_count(double width, NormKind kind = NormKind::layer);
/// Of a Block: attention, feed-forward net, two norms.
double block_count(const BlockOptions& options);

}  // namespace gradus::nn
