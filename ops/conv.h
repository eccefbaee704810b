#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

/// Geometry of conv1d(), in elements along the last axis.
struct Conv1dOptions {
  std::int64_t stride = 1, dilation = 1;
  std::int64_t padding = 0;  // zeros at both ends
  std::int64_t groups = 1;   // must divide Cin and Cout
};

/// 1-D convolution: y_ot = bias_o + Σ_ck weight_ock x_c(t·stride + k·dilation). x [B, Cin, L],
/// weight [Cout, Cin/groups, K], bias [Cout] or undefined → [B, Cout, Lout] with Lout = (L +
/// 2·padding − dilation (K − 1) − 1) / stride + 1. Depthwise if groups = Cin = Cout. For one-sided
/// (causal) padding, call pad() first.
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const Conv1dOptions& options = {});

}  // namespace gradus
