// Batch normalisation.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

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
