#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

/// Constants of batch_norm(). Defaults are as in PyTorch.
struct BatchNormRates {
  double momentum = 0.1;  // update rate of the running statistics
  double eps = 1e-5;      // added to the variance
};

/// Batch normalization of [N, C] or [N, C, L] over all axes but C. Training uses the batch
/// statistics (n ≥ 2 values per channel) and moves running_mean and running_var [C] toward them by
/// `momentum`, in place. running_var uses the divisor n − 1. Evaluation uses the running
/// statistics. Ioffe & Szegedy 2015.
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, Tensor running_mean,
                  Tensor running_var, bool training, const BatchNormRates& rates = {});

}  // namespace gradus
