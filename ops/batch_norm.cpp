// batch_norm: every channel with mean 0 and variance 1 over the batch, then scaled and shifted.
//
// Training, for each channel c, over its n values in x [N, C] or [N, C, L]:
//
//   x̂ = (x − μ) r,   μ = mean x,   r = 1 / √(mean (x − μ)² + eps)
//   y = x̂ w_c + b_c
//
//   dx = w_c r (dy − mean dy − x̂ mean(dy x̂))        dw_c = Σ dy x̂        db_c = Σ dy
//
// x is remembered, and μ and Σ (x − μ)² of each channel. The kernels work on rows [C, N·L], a copy:
// a channel is then one piece of memory. Evaluation uses the running statistics, which are
// constants: that is element by element, and written in the operations for it.
#include "gradus/ops/batch_norm.h"

#include <cmath>

#include "gradus/engine/apply.h"
#include "gradus/engine/base/vmath.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/kernels/rows.h"
#include "gradus/ops/kernels/through_formula.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {
namespace {

/// Of each channel; dx of all its values.
template <class T>
struct ChannelGradients {
  T *dx, *dw, *db;
};

/// w and b may be null: 1 and 0. statistics [C, 2] receives μ and Σ (x − μ)² of each channel.
template <class T>
GRADUS_INLINE void batch_norm_rows(const T* x, const T* w, const T* b, T eps, T* y, T* statistics,
                                   RowBlock channels) {
  const std::int64_t n = channels.length;
  const T count = static_cast<T>(n);
  for (std::int64_t c = 0; c < channels.rows; ++c, x += n, y += n, statistics += 2) {
    const T mu = vmath::sum(x, n) / count;
    const T spread = vmath::sum_of<T>(n, [=](std::int64_t i) { return (x[i] - mu) * (x[i] - mu); });
    const T scale = (w ? w[c] : T(1)) / std::sqrt(spread / count + eps), shift = b ? b[c] : T(0);
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mu) * scale + shift;
    statistics[0] = mu;
    statistics[1] = spread;
  }
}

template <class T>
GRADUS_INLINE void batch_norm_rows_backward(const T* x, const T* w, const T* statistics, T eps,
                                            const T* dy, ChannelGradients<T> d, RowBlock channels) {
  T *dx = d.dx, *dw = d.dw, *db = d.db;
  const std::int64_t n = channels.length;
  const T count = static_cast<T>(n);
  for (std::int64_t c = 0; c < channels.rows; ++c, x += n, dy += n, dx += n, statistics += 2) {
    const T mu = statistics[0], rstd = T(1) / std::sqrt(statistics[1] / count + eps);
    db[c] = vmath::sum(dy, n);
    dw[c] = rstd * vmath::sum_of<T>(n, [=](std::int64_t i) { return dy[i] * (x[i] - mu); });
    const T mean_dy = db[c] / count, slope = rstd * dw[c] / count;
    const T scale = (w ? w[c] : T(1)) * rstd;
    for (std::int64_t i = 0; i < n; ++i) dx[i] = scale * (dy[i] - mean_dy - (x[i] - mu) * slope);
  }
}

/// [N, C, …] as [C, N, …] or back, contiguous.
Tensor channels_exchanged(const Tensor& x) {
  return kernel::contiguous(kernel::transposed(x, 0, 1));
}

std::int64_t values_per_channel(const Tensor& x) {
  return x.size(0) * (x.rank() == 3 ? x.size(2) : 1);
}

/// The axes over which a channel's statistics run.
Axes others(const Tensor& x) { return x.rank() == 3 ? Axes{0, 2} : Axes{0}; }

/// [C] so that it broadcasts along x's channels: [C, 1] for [N, C, L].
Tensor along_channels(const Tensor& x, const Tensor& v) {
  return x.rank() == 3 ? reshape(v, {v.size(0), 1}) : v;
}

Tensor scaled_and_shifted(const Tensor& xhat, const Tensor& weight, const Tensor& bias) {
  Tensor y = xhat;
  if (weight.defined()) y = y * along_channels(xhat, weight);
  if (bias.defined()) y = y + along_channels(xhat, bias);
  return y;
}

/// x̂ w + b in public operations.
Tensor batch_norm_formula(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const Tensor offset = x - mean(x, others(x), true);
  const Tensor xhat = offset * rsqrt(mean(square(offset), others(x), true) + eps);
  return scaled_and_shifted(xhat, weight, bias);
}

/// running ← running + momentum (seen − running), for the mean and the variance with n − 1.
void move_running(Tensor& running_mean, Tensor& running_var, const Tensor& statistics,
                  std::int64_t n, double momentum) {
  dispatch_float("batch_norm", statistics.dtype(), [&]<class T>() {
    const T* seen = statistics.data<T>();
    const T m = static_cast<T>(momentum), degrees = static_cast<T>(n - 1);
    T* mu = running_mean.defined() ? running_mean.mutable_data<T>() : nullptr;
    T* var = running_var.defined() ? running_var.mutable_data<T>() : nullptr;
    const std::int64_t mu_step = mu ? running_mean.strides()[0] : 0;
    const std::int64_t var_step = var ? running_var.strides()[0] : 0;
    for (std::int64_t c = 0; c < statistics.size(0); ++c) {
      if (mu) mu[c * mu_step] += m * (seen[2 * c] - mu[c * mu_step]);
      if (var) var[c * var_step] += m * (seen[2 * c + 1] / degrees - var[c * var_step]);
    }
  });
}

}  // namespace

namespace op {

struct BatchNorm final : Op {
  double eps;
  Saved x, weight, bias;
  Tensor statistics;  // [C, 2]: μ, Σ (x − μ)²

  explicit BatchNorm(double epsilon) : eps(epsilon) {}
  const char* name() const override { return "batch_norm"; }

  Tensor forward(const Tensor& input, const Tensor& w, const Tensor& b) {
    x = input;
    weight = w;
    bias = b;
    const Tensor packed = channels_exchanged(input), scale = kernel::contiguous(w),
                 shift = kernel::contiguous(b);
    const std::int64_t channels = input.size(1), n = values_per_channel(input);
    statistics = Tensor::empty({channels, 2}, input.dtype());
    Tensor y = Tensor::empty_like(packed);
    dispatch_float(name(), input.dtype(), [&]<class T>() {
      const T* from = packed.data<T>();
      const T *s = w.defined() ? scale.data<T>() : nullptr,
              *t = b.defined() ? shift.data<T>() : nullptr;
      T *to = y.mutable_data<T>(), *kept = statistics.mutable_data<T>();
      parallel_for(channels, rows_grain(2 * n), [&](std::int64_t first, std::int64_t last) {
        simd::run<batch_norm_rows<T>>(from + first * n, s ? s + first : s, t ? t + first : t,
                                      static_cast<T>(eps), to + first * n, kept + 2 * first,
                                      RowBlock{last - first, n});
      });
    });
    return channels_exchanged(y);
  }

  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    if (GradMode::enabled() || formula_wanted())
      return through_formula(dy, wants, {x.value(), weight.value(), bias.value()},
                             [this](const std::vector<Tensor>& in) {
                               return batch_norm_formula(in[0], in[1], in[2], eps);
                             });
    const Tensor input = channels_exchanged(x.value()), upstream = channels_exchanged(dy);
    const Tensor w = kernel::contiguous(weight.value());
    const std::int64_t channels = input.size(0), n = values_per_channel(x.value());
    Tensor dx = Tensor::empty_like(input), dw = Tensor::empty({channels}, x.dtype());
    Tensor db = Tensor::empty({channels}, x.dtype());
    dispatch_float(name(), x.dtype(), [&]<class T>() {
      const T *from = input.data<T>(), *in = upstream.data<T>(), *kept = statistics.data<T>();
      const T* scale = w.defined() ? w.data<T>() : nullptr;
      T *out = dx.mutable_data<T>(), *dscale = dw.mutable_data<T>(), *dshift = db.mutable_data<T>();
      parallel_for(channels, rows_grain(2 * n), [&](std::int64_t first, std::int64_t last) {
        simd::run<batch_norm_rows_backward<T>>(
            from + first * n, scale ? scale + first : scale, kept + 2 * first, static_cast<T>(eps),
            in + first * n, ChannelGradients<T>{out + first * n, dscale + first, dshift + first},
            RowBlock{last - first, n});
      });
    });
    return {wants(0) ? channels_exchanged(dx) : Tensor(), wants(1) ? dw : Tensor(),
            wants(2) ? db : Tensor()};
  }
};

}  // namespace op

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, Tensor running_mean,
                  Tensor running_var, bool training, const BatchNormRates& rates) {
  const double momentum = rates.momentum, eps = rates.eps;
  check_defined("batch_norm", x);
  require<ShapeError>(x.rank() == 2 || x.rank() == 3, "batch_norm: x ", x.shape(),
                      ": wants [N, C] or [N, C, L]");
  check_parameter("batch_norm", x, 1, "weight", weight);
  check_parameter("batch_norm", x, 1, "bias", bias);
  check_parameter("batch_norm", x, 1, "running_mean", running_mean);
  check_parameter("batch_norm", x, 1, "running_var", running_var);
  require<ValueError>(eps >= 0, "batch_norm: eps is ", eps, ", but must not be negative");
  require<ValueError>(momentum >= 0 && momentum <= 1, "batch_norm: momentum is ", momentum,
                      ", but must be in [0, 1]");
  if (!training) {
    require<ValueError>(running_mean.defined() && running_var.defined(),
                        "batch_norm: evaluation needs running_mean and running_var");
    const Tensor rstd = along_channels(x, rsqrt(running_var + eps));
    return scaled_and_shifted((x - along_channels(x, running_mean)) * rstd, weight, bias);
  }
  const std::int64_t n = values_per_channel(x);
  require<ValueError>(n >= 2 || x.numel() == 0, "batch_norm: x ", x.shape(),
                      " has one value a channel, ",
                      "which has no variance: train with two or more, or evaluate");
  op::BatchNorm op(eps);
  Tensor statistics, y;
  const auto forward = [&] {
    Tensor result = op.forward(x, weight, bias);
    statistics = op.statistics;
    return result;
  };
  if (formula_wanted()) {
    static_cast<void>(forward());
    y = batch_norm_formula(x, weight, bias, eps);
  } else {
    const Tensor* const inputs[] = {&x, &weight, &bias};
    y = record(op, std::span(inputs), forward);
  }
  if (n > 0) move_running(running_mean, running_var, statistics, n, momentum);
  return y;
}

}  // namespace gradus
