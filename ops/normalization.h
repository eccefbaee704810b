// Normalisation.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

/// y = (x − mean) / √(var + eps) · weight + bias over the last axis [C]; var is the mean square
/// deviation. weight and bias [C] may be undefined. Ba, Kiros & Hinton 2016.
Tensor layer_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

/// y = x / √(mean x² + eps) · weight over the last axis. Zhang & Sennrich 2019.
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, double eps = 1e-5);

struct BatchNormRates {
  double momentum = 0.1;  // of the running statistics
  double eps = 1e-5;
};

/// Training: each channel [N, C] or [N, C, L] normalised by its own mean and variance over the
/// others, running_mean and running_var [C] moved towards them by `momentum` (variance with n − 1,
/// in place); n ≥ 2 values a channel. Evaluation: by the running ones. Ioffe & Szegedy 2015.
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, Tensor running_mean,
                  Tensor running_var, bool training, const BatchNormRates& rates = {});

}  // namespace gradus
