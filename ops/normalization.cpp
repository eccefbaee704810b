// Norms: numbers x that belong together get mean 0 and variance 1 (rms_norm: mean square 1), then a
// scale and a shift.
//
//   x̂ = (x − μ) r,   μ = mean x,   r = 1 / √(mean (x − μ)² + eps)       rms_norm: μ = 0
//   y = x̂ w + b                                                         rms_norm: no b
//
//   g  = dy w
//   dx = r (g − mean g − x̂ mean(g x̂))       dw = Σ dy x̂       db = Σ dy       rms_norm: no mean g
//
// layer_norm and rms_norm: means over each row along the last axis [C], sums over the rows. x is
// kept, and μ and r of each row. The output is computed again from x in backward when a later
// operation (a product) needs it.
//
// batch_norm: means over the n values of each channel in x [N, C] or [N, C, L]. x is kept, and μ
// and Σ (x − μ)² of each channel. The kernels work on rows [C, N·L], a copy: a channel is then one
// piece of memory. Evaluation uses the running statistics, which are constants: that is element by
// element, and written in the operations for it.
#include "gradus/ops/normalization.h"

#include <algorithm>
#include <cmath>

#include "gradus/base/vmath.h"
#include "gradus/engine/apply.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/reduce.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/kernels/norm.h"
#include "gradus/ops/kernels/rows.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {
namespace {

/// statistics [rows, 2] receives μ and r of each row.
template <class T, bool kCentred>
GRADUS_INLINE void norm_rows(NormRows<T> at, T eps, std::int64_t rows, std::int64_t n) {
  const T count = static_cast<T>(n), *x = at.x, *w = at.w, *b = at.b;
  T *y = at.y, *statistics = at.statistics;
  for (std::int64_t r = 0; r < rows; ++r, x += n, y += n, statistics += 2) {
    const T mu = kCentred ? vmath::sum(x, n) / count : T(0);
    const T spread = vmath::sum_of<T>(n, [=](std::int64_t i) { return (x[i] - mu) * (x[i] - mu); });
    const T rstd = T(1) / std::sqrt(spread / count + eps);
    if constexpr (kCentred)
      for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mu) * rstd * w[i] + b[i];
    else
      for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * rstd * w[i];
    statistics[0] = mu;
    statistics[1] = rstd;
  }
}

/// dw and db are added to. dx may be dy itself.
template <class T, bool kCentred>
GRADUS_INLINE void norm_rows_backward(NormRows<T> at, std::int64_t rows, std::int64_t n) {
  const T count = static_cast<T>(n), *x = at.x, *w = at.w, *dy = at.dy, *statistics = at.statistics;
  T *dx = at.dx, *dw = at.dw, *db = at.db;
  for (std::int64_t r = 0; r < rows; ++r, x += n, dy += n, statistics += 2) {
    const T mu = kCentred ? statistics[0] : T(0), rstd = statistics[1];
    if (dw)
      for (std::int64_t i = 0; i < n; ++i) dw[i] += dy[i] * ((x[i] - mu) * rstd);
    if (db)
      for (std::int64_t i = 0; i < n; ++i) db[i] += dy[i];
    if (!dx) continue;
    if (dx != dy) std::copy_n(dy, n, dx);
    const T* g = dx;
    const T mean_g = kCentred ? vmath::dot(g, w, n) / count : T(0);
    const T along = vmath::sum_of<T>(n, [=](std::int64_t i) { return g[i] * w[i] * (x[i] - mu); });
    const T slope = along * rstd * rstd / count;  // r mean(g x̂)
    for (std::int64_t i = 0; i < n; ++i)
      dx[i] = rstd * (dx[i] * w[i] - mean_g - (x[i] - mu) * slope);
    dx += n;
  }
}

/// The same over each channel: w and b are one number a row. statistics [C, 2] receives μ and
/// Σ (x − μ)².
template <class T>
GRADUS_INLINE void batch_norm_rows(NormRows<T> at, T eps, std::int64_t rows, std::int64_t n) {
  const T count = static_cast<T>(n), *x = at.x;
  T *y = at.y, *statistics = at.statistics;
  for (std::int64_t c = 0; c < rows; ++c, x += n, y += n, statistics += 2) {
    const T mu = vmath::sum(x, n) / count;
    const T spread = vmath::sum_of<T>(n, [=](std::int64_t i) { return (x[i] - mu) * (x[i] - mu); });
    const T scale = (at.w ? at.w[c] : T(1)) / std::sqrt(spread / count + eps);
    const T shift = at.b ? at.b[c] : T(0);
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mu) * scale + shift;
    statistics[0] = mu;
    statistics[1] = spread;
  }
}

template <class T>
GRADUS_INLINE void batch_norm_rows_backward(NormRows<T> at, T eps, std::int64_t rows,
                                            std::int64_t n) {
  const T count = static_cast<T>(n), *x = at.x, *dy = at.dy, *statistics = at.statistics;
  T* dx = at.dx;
  for (std::int64_t c = 0; c < rows; ++c, x += n, dy += n, dx += n, statistics += 2) {
    const T mu = statistics[0], rstd = T(1) / std::sqrt(statistics[1] / count + eps);
    const T db = vmath::sum(dy, n);
    const T dw = rstd * vmath::sum_of<T>(n, [=](std::int64_t i) { return dy[i] * (x[i] - mu); });
    const T mean_dy = db / count, slope = rstd * dw / count;
    const T scale = (at.w ? at.w[c] : T(1)) * rstd;
    for (std::int64_t i = 0; i < n; ++i) dx[i] = scale * (dy[i] - mean_dy - (x[i] - mu) * slope);
    at.dw[c] = dw;
    at.db[c] = db;
  }
}

Tensor packed(const Tensor& x) { return x.defined() ? kernel::contiguous(x) : x; }

/// [N, C, …] as [C, N, …] or back, contiguous.
Tensor channels_exchanged(const Tensor& x) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  std::swap(shape[0], shape[1]);
  std::swap(strides[0], strides[1]);
  return kernel::contiguous(kernel::strided_view(x, shape, strides, x.offset()));
}

std::int64_t values_per_channel(const Tensor& x) {
  return x.size(0) * (x.rank() == 3 ? x.size(2) : 1);
}

/// The norm of each channel, as a formula.
Formula channel_formula(const Shape& x, double eps) {
  if (x.rank() == 3) return {true, eps, {0, 2}, {x[1], 1}};
  return {true, eps, {0}, {x[1]}};
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

void check_eps(const char* op, double eps) {
  require<ValueError>(eps >= 0, op, ": eps is ", eps, ", but must not be negative");
}

}  // namespace

namespace op {

/// layer_norm and rms_norm.
template <bool kCentred>
struct RowNorm : Op {
  double eps;
  Saved x, weight, bias;
  Tensor statistics;  // [rows, 2]: μ, r

  explicit RowNorm(double eps) : eps(eps) {}
  bool is_recomputable() const override { return x.is_stored(); }
  Formula formula() const { return {kCentred, eps, {-1}, {x.shape()[x.shape().rank() - 1]}}; }

  Tensor forward(const Tensor& input, const Tensor& w, const Tensor& b) {
    x = input;
    weight = w;
    bias = b;
    statistics = Tensor::empty({Rows(input).count, 2}, input.dtype());
    return normalised(input, w, b, statistics);
  }

  Tensor recompute() const override {
    return normalised(x.value(), weight.value(), bias.value(), Tensor::empty_like(statistics));
  }

  Tensor normalised(const Tensor& input, const Tensor& w, const Tensor& b,
                    const Tensor& numbers) const {
    NormTensors t{.x = kernel::contiguous(input), .statistics = numbers};
    const Rows rows(t.x);
    t.w = w.defined() ? packed(w) : ones({rows.length}, input.dtype());
    t.b = b.defined() ? packed(b) : zeros({rows.length}, input.dtype());
    t.y = Tensor::empty_like(t.x);
    dispatch_float(name(), input.dtype(), [&]<class T>() {
      const NormRows<T> first(t);
      for_rows(rows, 2, [&](std::int64_t begin, std::int64_t end) {
        NormRows<T> at = first;
        at.skip_rows(begin, rows.length);
        simd::run<norm_rows<T, kCentred>>(at, static_cast<T>(eps), end - begin, rows.length);
      });
    });
    return t.y;
  }

  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    if (GradMode::enabled() || formula_wanted())
      return formula().backward(x.value(), weight, bias, dy, wants);
    NormTensors t{.x = kernel::contiguous(x.value()), .statistics = statistics};
    const Rows rows(t.x);
    t.w = weight.defined() ? packed(weight.value()) : ones({rows.length}, x.dtype());
    const std::int64_t grain = summing_grain(rows), chunks = (rows.count + grain - 1) / grain;
    if (weight.defined() && wants(1)) t.dw = zeros({chunks, rows.length}, x.dtype());
    if (bias.defined() && wants(2)) t.db = zeros({chunks, rows.length}, x.dtype());
    if (wants(0)) t.dx = reuse_or_empty(dy);
    t.dy = kernel::contiguous(dy);
    dispatch_float(name(), x.dtype(), [&]<class T>() {
      const NormRows<T> first(t);
      parallel_for(rows.count, grain, [&](std::int64_t begin, std::int64_t end) {
        NormRows<T> at = first;
        at.skip_rows(begin, rows.length);
        advance(at.dw, begin / grain * rows.length);
        advance(at.db, begin / grain * rows.length);
        simd::run<norm_rows_backward<T, kCentred>>(at, end - begin, rows.length);
      });
    });
    const auto total = [&](const Tensor& each) {  // of all chunks
      return each.defined() ? kernel::sum(name(), each, reduced(name(), each, {0}, false)) : each;
    };
    return {t.dx, total(t.dw), total(t.db)};
  }
};

struct LayerNorm final : RowNorm<true> {
  using RowNorm::RowNorm;
  const char* name() const override { return "layer_norm"; }
};

struct RmsNorm final : RowNorm<false> {
  using RowNorm::RowNorm;
  const char* name() const override { return "rms_norm"; }
};

struct BatchNorm final : Op {
  double eps;
  Saved x, weight, bias;
  Tensor statistics;  // [C, 2]: μ, Σ (x − μ)²

  explicit BatchNorm(double eps) : eps(eps) {}
  const char* name() const override { return "batch_norm"; }

  Tensor forward(const Tensor& input, const Tensor& w, const Tensor& b) {
    x = input;
    weight = w;
    bias = b;
    statistics = Tensor::empty({input.size(1), 2}, input.dtype());
    NormTensors t{.x = channels_exchanged(input), .w = packed(w), .b = packed(b)};
    t.statistics = statistics;
    t.y = Tensor::empty_like(t.x);
    dispatch_float(name(), input.dtype(), [&]<class T>() {
      each_channel<T>(t, [](auto... rows) { simd::run<batch_norm_rows<T>>(rows...); });
    });
    return channels_exchanged(t.y);
  }

  /// kernel(rows, eps, count, n) for chunks of the channels in t.x [C, N, …].
  template <class T, class Kernel>
  void each_channel(NormTensors& t, Kernel kernel) const {
    const std::int64_t channels = t.x.size(0), n = channels == 0 ? 0 : t.x.numel() / channels;
    const NormRows<T> first(t);
    parallel_for(channels, rows_grain(2 * n), [&](std::int64_t begin, std::int64_t end) {
      NormRows<T> at = first;
      at.skip_rows(begin, n);
      advance(at.w, begin);
      advance(at.b, begin);
      advance(at.dw, begin);
      advance(at.db, begin);
      kernel(at, static_cast<T>(eps), end - begin, n);
    });
  }

  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    if (GradMode::enabled() || formula_wanted())
      return channel_formula(x.shape(), eps).backward(x.value(), weight, bias, dy, wants);
    NormTensors t{.x = channels_exchanged(x.value()), .dy = channels_exchanged(dy)};
    t.w = packed(weight.value());
    t.statistics = statistics;
    t.dx = Tensor::empty_like(t.x);
    t.dw = Tensor::empty({t.x.size(0)}, x.dtype());
    t.db = Tensor::empty_like(t.dw);
    dispatch_float(name(), x.dtype(), [&]<class T>() {
      each_channel<T>(t, [](auto... rows) { simd::run<batch_norm_rows_backward<T>>(rows...); });
    });
    return {wants(0) ? channels_exchanged(t.dx) : Tensor(),
            weight.defined() && wants(1) ? t.dw : Tensor(),
            bias.defined() && wants(2) ? t.db : Tensor()};
  }
};

}  // namespace op

namespace {

template <class Norm>
Tensor row_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  Norm op(eps);
  check_float(op.name(), x);
  require<ShapeError>(x.rank() >= 1, op.name(), ": x ", x.shape(),
                      " has no axis to normalise along");
  check_eps(op.name(), eps);
  check_parameter(op.name(), x, -1, "weight", weight);
  check_parameter(op.name(), x, -1, "bias", bias);
  if (!formula_wanted()) return apply(std::move(op), x, weight, bias);
  op.x = x;
  return op.formula().affine(op.formula().normalised(x).xhat, weight, bias);
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  return row_norm<op::LayerNorm>(x, weight, bias, eps);
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  return row_norm<op::RmsNorm>(x, weight, {}, eps);
}

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, Tensor running_mean,
                  Tensor running_var, bool training, double momentum, double eps) {
  check_defined("batch_norm", x);
  require<ShapeError>(x.rank() == 2 || x.rank() == 3, "batch_norm: x ", x.shape(),
                      ": wants [N, C] or [N, C, L]");
  check_parameter("batch_norm", x, 1, "weight", weight);
  check_parameter("batch_norm", x, 1, "bias", bias);
  check_parameter("batch_norm", x, 1, "running_mean", running_mean);
  check_parameter("batch_norm", x, 1, "running_var", running_var);
  check_eps("batch_norm", eps);
  require<ValueError>(momentum >= 0 && momentum <= 1, "batch_norm: momentum is ", momentum,
                      ", but must be in [0, 1]");
  const Formula formula = channel_formula(x.shape(), eps);
  if (!training) {
    require<ValueError>(running_mean.defined() && running_var.defined(),
                        "batch_norm: evaluation needs running_mean and running_var");
    const Tensor rstd = reshape(rsqrt(running_var + eps), formula.parameter);
    return formula.affine((x - reshape(running_mean, formula.parameter)) * rstd, weight, bias);
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
    y = formula.affine(formula.normalised(x).xhat, weight, bias);
  } else {
    const Tensor* const inputs[] = {&x, &weight, &bias};
    y = run(op, std::span(inputs), forward);
  }
  if (n >= 2) move_running(running_mean, running_var, statistics, n, momentum);
  return y;
}

}  // namespace gradus
