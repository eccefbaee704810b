#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

/// Returns y = (x − mean) / √(var + eps) · weight + bias over the last axis [C]; var is the mean
/// squared deviation. weight and bias [C] may be undefined. Ba, Kiros & Hinton 2016.
Tensor layer_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

/// Returns y = x / √(mean x² + eps) · weight over the last axis. Zhang & Sennrich 2019.
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, double eps = 1e-5);

}  // namespace gradus
