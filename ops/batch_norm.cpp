// batch_norm: normalizes each channel over the batch, then scales and shifts.
//
//   y = x̂ w_c + b_c,   x̂ = (x − μ) / √(σ² + eps)   for the n values of channel c
//
//   training:    μ and σ² of these values;  running ← running + momentum · (seen − running),
//                where seen is μ, and σ² · n / (n − 1)
//   evaluation:  the running statistics, which are constants
//
// In training, a channel of x [N, C] or [N, C, L] becomes a row of N · L values for layer_norm,
// which computes the derivative.
#include "gradus/ops/batch_norm.h"

#include "gradus/engine/grad_mode.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/normalization.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/unary.h"

namespace gradus {
namespace {

/// Reshapes [C] to broadcast along x's channels: [C, 1] for [N, C, L].
Tensor along_channels(const Tensor& x, const Tensor& v) {
  return x.rank() == 3 ? reshape(v, {v.size(0), 1}) : v;
}

Tensor scaled_and_shifted(const Tensor& xhat, const Tensor& weight, const Tensor& bias) {
  Tensor y = xhat;
  if (weight.defined()) y = y * along_channels(xhat, weight);
  if (bias.defined()) y = y + along_channels(xhat, bias);
  return y;
}

Tensor moved_toward(const Tensor& running, const Tensor& seen, double momentum) {
  return running.defined() ? running + (seen - running) * momentum : Tensor();
}

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, Tensor running_mean,
                  Tensor running_var, bool training, const BatchNormRates& rates) {
  const double momentum = rates.momentum, eps = rates.eps;
  check_float("batch_norm", x);
  require<ShapeError>(x.rank() == 2 || x.rank() == 3,
                      "batch_norm: x must be [N, C] or [N, C, L], got ", x.shape());
  check_parameter("batch_norm", x, 1, "weight", weight);
  check_parameter("batch_norm", x, 1, "bias", bias);
  check_parameter("batch_norm", x, 1, "running_mean", running_mean);
  check_parameter("batch_norm", x, 1, "running_var", running_var);
  require<ValueError>(eps >= 0, "batch_norm: eps must not be negative, got ", eps);
  require<ValueError>(momentum >= 0 && momentum <= 1,
                      "batch_norm: momentum must be in [0, 1], got ", momentum);
  if (!training) {
    require<ValueError>(running_mean.defined() && running_var.defined(),
                        "batch_norm: evaluation requires running_mean and running_var. Pass both.");
    const Tensor rstd = along_channels(x, rsqrt(running_var + eps));
    return scaled_and_shifted((x - along_channels(x, running_mean)) * rstd, weight, bias);
  }
  const Tensor channels = transpose(x, 0, 1);  // [C, N] or [C, N, L]
  const std::int64_t n = x.size(0) * (x.rank() == 3 ? x.size(2) : 1);
  require<ValueError>(n >= 2 || x.numel() == 0, "batch_norm: x ", x.shape(),
                      " has one value per channel, ",
                      "so its variance is undefined. Train with two or more values, or evaluate.");
  const Tensor rows = reshape(channels, {x.size(1), n});
  const Tensor normalized = reshape(layer_norm(rows, {}, {}, eps), channels.shape());
  const Tensor y = scaled_and_shifted(transpose(normalized, 0, 1), weight, bias);
  if (n > 0) {  // last and together, so that a failure changes neither average
    const NoGrad off;
    const Tensor new_mean = moved_toward(running_mean, mean(rows, 1), momentum),
                 new_var = moved_toward(running_var, var(rows, 1, false, 1), momentum);
    if (new_mean.defined()) running_mean.copy_(new_mean);
    if (new_var.defined()) running_var.copy_(new_var);
  }
  return y;
}

}  // namespace gradus
