// layer_norm: every row along the last axis [C] gets mean 0 and variance 1, a scale and a shift.
//
//   x̂_i = (x_i − μ) r,   μ = mean x,   r = 1 / √(mean (x − μ)² + eps)
//   y_i = x̂_i w_i + b_i
//
//   g_i  = dy_i w_i
//   dx_i = r (g_i − mean g − x̂_i mean(g x̂))     dw_i = Σ_rows dy_i x̂_i     db_i = Σ_rows dy_i
//
// x is remembered, and two numbers a row: μ and r. The output is not kept for those who need it
// (the products that follow): it is made again from x.
#include <algorithm>
#include <cmath>

#include "gradus/base/vmath.h"
#include "gradus/engine/apply.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/kernels/rows.h"
#include "gradus/ops/normalization.h"
#include "gradus/ops/reduce.h"

namespace gradus {
namespace {

/// statistics [rows, 2] receives μ and r of each row.
template <class T>
GRADUS_INLINE void layer_norm_rows(const T* x, const T* w, const T* b, T eps, T* y, T* statistics,
                                   std::int64_t rows, std::int64_t n) {
  const T count = static_cast<T>(n);
  for (std::int64_t r = 0; r < rows; ++r, x += n, y += n, statistics += 2) {
    const T mu = vmath::sum(x, n) / count;
    const T spread = vmath::sum_of<T>(n, [=](std::int64_t i) { return (x[i] - mu) * (x[i] - mu); });
    const T rstd = T(1) / std::sqrt(spread / count + eps);
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mu) * rstd * w[i] + b[i];
    statistics[0] = mu;
    statistics[1] = rstd;
  }
}

/// dw and db are added to. dx may be dy itself. Each of the two may be null: not wanted.
template <class T>
GRADUS_INLINE void layer_norm_rows_backward(const T* x, const T* w, const T* statistics,
                                            const T* dy, T* dx, T* dw_db, std::int64_t rows,
                                            std::int64_t n) {
  const T count = static_cast<T>(n);
  for (std::int64_t r = 0; r < rows; ++r, x += n, dy += n, statistics += 2) {
    const T mu = statistics[0], rstd = statistics[1];
    if (dw_db) {
      for (std::int64_t i = 0; i < n; ++i) dw_db[i] += dy[i] * ((x[i] - mu) * rstd);
      for (std::int64_t i = 0; i < n; ++i) dw_db[n + i] += dy[i];
    }
    if (!dx) continue;
    if (dx != dy) std::copy_n(dy, n, dx);
    const T* g = dx;
    const T mean_g = vmath::dot(g, w, n) / count;
    const T along = vmath::sum_of<T>(n, [=](std::int64_t i) { return g[i] * w[i] * (x[i] - mu); });
    const T slope = along * rstd * rstd / count;  // r mean(g x̂)
    for (std::int64_t i = 0; i < n; ++i)
      dx[i] = rstd * (dx[i] * w[i] - mean_g - (x[i] - mu) * slope);
    dx += n;
  }
}

/// (x − μ) r, in operations that can be differentiated again.
struct Normalised {
  Tensor rstd, xhat;
  Normalised(const Tensor& x, double eps) {
    const Tensor centred = x - mean(x, {-1}, true);
    rstd = rsqrt(mean(square(centred), {-1}, true) + eps);
    xhat = centred * rstd;
  }
};

Tensor layer_norm_formula(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  Tensor y = Normalised(x, eps).xhat;
  if (weight.defined()) y = y * weight;
  if (bias.defined()) y = y + bias;
  return y;
}

void check_arguments(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  require<ValueError>(x.defined(), "layer_norm: the tensor is undefined");
  require<DtypeError>(is_float(x.dtype()), "layer_norm: wants f32 or f64, not ", x.dtype(),
                      ": convert with to(x, Dtype::f32)");
  require<ShapeError>(x.rank() >= 1, "layer_norm: x ", x.shape(),
                      " has no axis to normalise along");
  require<ValueError>(eps >= 0, "layer_norm: eps is ", eps, ", but must not be negative");
  for (const Tensor* p : {&weight, &bias}) {
    if (!p->defined()) continue;
    const char* which = p == &weight ? "weight" : "bias";
    require<ShapeError>(p->shape() == Shape{x.size(-1)}, "layer_norm: x ", x.shape(), " with ",
                        which, " ", p->shape(), ": it must have the size of x's last axis, [",
                        x.size(-1), "]");
    require<DtypeError>(p->dtype() == x.dtype(), "layer_norm: x is ", x.dtype(), " but ", which,
                        " ", p->dtype(), ": convert one with to(x, dtype)");
  }
}

}  // namespace

namespace op {

struct LayerNorm final : Op {
  double eps;
  Saved x, weight, bias;
  Tensor statistics;  // [rows, 2]: μ, r

  explicit LayerNorm(double epsilon) : eps(epsilon) {}
  const char* name() const override { return "layer_norm"; }
  bool is_recomputable() const override { return x.is_stored(); }

  Tensor forward(const Tensor& input, const Tensor& w, const Tensor& b) {
    x = input, weight = w, bias = b;
    statistics = Tensor::empty({Rows(input).count, 2}, input.dtype());
    return normalised(input, w, b, statistics);
  }

  Tensor recompute() const override {
    return normalised(x.value(), weight.value(), bias.value(), Tensor::empty_like(statistics));
  }

  Tensor normalised(const Tensor& input, const Tensor& w, const Tensor& b, Tensor numbers) const {
    const Tensor packed = kernel::contiguous(input);
    const Rows rows(packed);
    const Tensor scale = w.defined() ? kernel::contiguous(w) : ones({rows.length}, input.dtype());
    const Tensor shift = b.defined() ? kernel::contiguous(b) : zeros({rows.length}, input.dtype());
    Tensor y = Tensor::empty_like(packed);
    dispatch_float(name(), input.dtype(), [&]<class T>() {
      const T *from = packed.data<T>(), *s = scale.data<T>(), *t = shift.data<T>();
      T *to = y.mutable_data<T>(), *kept = numbers.mutable_data<T>();
      for_rows(rows, 2, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t at = begin * rows.length;
        simd::run<layer_norm_rows<T>>(from + at, s, t, static_cast<T>(eps), to + at,
                                      kept + 2 * begin, end - begin, rows.length);
      });
    });
    return y;
  }

  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    if (GradMode::enabled() || formula_wanted()) return formula_backward(dy, wants);
    const Tensor input = kernel::contiguous(x.value());
    const Rows rows(input);
    const Tensor w =
        weight.defined() ? kernel::contiguous(weight.value()) : ones({rows.length}, x.dtype());
    const bool dw_wanted = weight.defined() && wants(1), db_wanted = bias.defined() && wants(2);
    RowSums sums(rows, dw_wanted || db_wanted ? 2 * rows.length : 0, x.dtype());
    Tensor dx = wants(0) ? reuse_or_empty(dy) : Tensor();
    const Tensor upstream = kernel::contiguous(dy);
    dispatch_float(name(), x.dtype(), [&]<class T>() {
      const T *from = input.data<T>(), *scale = w.data<T>(), *kept = statistics.data<T>();
      const T* in = upstream.data<T>();
      T* out = dx.defined() ? dx.mutable_data<T>() : nullptr;
      T* dw_db = dw_wanted || db_wanted ? sums.partial<T>() : nullptr;
      parallel_for(rows.count, sums.grain, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t at = begin * rows.length;
        simd::run<layer_norm_rows_backward<T>>(
            from + at, scale, kept + 2 * begin, in + at, out ? out + at : out,
            dw_db ? dw_db + begin / sums.grain * 2 * rows.length : dw_db, end - begin, rows.length);
      });
    });
    return {dx, dw_wanted ? sums.total(0, rows.length) : Tensor(),
            db_wanted ? sums.total(rows.length, rows.length) : Tensor()};
  }

  Gradients formula_backward(const Tensor& dy, const Wanted& wants) {
    const auto [rstd, xhat] = Normalised(x.value(), eps);
    Gradients d(3);
    if (wants(0)) {
      const Tensor g = weight.defined() ? dy * weight.value() : dy;
      d[0] = rstd * (g - mean(g, {-1}, true) - xhat * mean(g * xhat, {-1}, true));
    }
    if (weight.defined() && wants(1)) d[1] = dy * xhat;
    if (bias.defined() && wants(2)) d[2] = dy;
    return d;
  }
};

}  // namespace op

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  check_arguments(x, weight, bias, eps);
  if (formula_wanted()) return layer_norm_formula(x, weight, bias, eps);
  return apply(op::LayerNorm(eps), x, weight, bias);
}

}  // namespace gradus
