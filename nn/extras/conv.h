#pragma once

#include "gradus/nn/module.h"
#include "gradus/ops/conv.h"

namespace gradus::nn {

/// Geometry of Conv1d, in positions along the sequence.
struct Conv1dLayerOptions {
  std::int64_t stride = 1, dilation = 1;
  std::int64_t padding = 0;  // zeros at both ends
  std::int64_t groups = 1;   // depthwise if in = out = groups
  bool causal = false;       // pads dilation · (kernel − 1) zeros at the start only
  bool bias = true;
};

/// conv1d(x, weight, bias): x [B, in, L] → [B, out, Lout]. Weight and bias are initialized
/// uniformly in ±1/√(in / groups · kernel), as in PyTorch.
class Conv1d : public Layer<Conv1d> {
 public:
  Conv1d(std::int64_t in, std::int64_t out, std::int64_t kernel,
         const Conv1dLayerOptions& options = {});
  Tensor forward(const Tensor& x) const;
  Members members() override { return {{"weight", weight}, {"bias", bias}}; }
  Conv1d same_architecture() const {
    return {weight.size(1) * options.groups, weight.size(0), weight.size(2), options};
  }

  Conv1dLayerOptions options;
  Tensor weight;  // [out, in / groups, kernel]
  Tensor bias;    // [out], or undefined
};

}  // namespace gradus::nn
