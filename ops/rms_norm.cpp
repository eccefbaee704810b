// rms_norm: every row along the last axis [C] divided by its root mean square, then scaled.
//
//   y_i  = x_i r w_i,   r = 1 / √(mean x² + eps)
//
//   g_i  = dy_i w_i
//   dx_i = r (g_i − x_i r² mean(g x))        dw_i = Σ_rows dy_i x_i r
//
// x is remembered, and r of each row. The output is made again for those who need it, as
// layer_norm's is.
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

/// rstd [rows] receives r of each row.
template <class T>
GRADUS_INLINE void rms_norm_rows(const T* x, const T* w, T eps, T* y, T* rstd, std::int64_t rows,
                                 std::int64_t n) {
  const T count = static_cast<T>(n);
  for (std::int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const T scale = T(1) / std::sqrt(vmath::sum_squares(x, n) / count + eps);
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * scale * w[i];
    rstd[r] = scale;
  }
}

/// dw is added to. dx may be dy itself. Each of the two may be null: not wanted.
template <class T>
GRADUS_INLINE void rms_norm_rows_backward(const T* x, const T* w, const T* rstd, const T* dy, T* dx,
                                          T* dw, std::int64_t rows, std::int64_t n) {
  const T count = static_cast<T>(n);
  for (std::int64_t r = 0; r < rows; ++r, x += n, dy += n) {
    const T scale = rstd[r];
    if (dw)
      for (std::int64_t i = 0; i < n; ++i) dw[i] += dy[i] * (x[i] * scale);
    if (!dx) continue;
    if (dx != dy) std::copy_n(dy, n, dx);
    const T* g = dx;
    const T along = vmath::sum_of<T>(n, [=](std::int64_t i) { return g[i] * w[i] * x[i]; });
    const T slope = along * scale * scale / count;
    for (std::int64_t i = 0; i < n; ++i) dx[i] = scale * (dx[i] * w[i] - x[i] * slope);
    dx += n;
  }
}

/// r, in operations that can be differentiated again.
Tensor inverse_rms(const Tensor& x, double eps) { return rsqrt(mean(square(x), {-1}, true) + eps); }

void check_arguments(const Tensor& x, const Tensor& weight, double eps) {
  require<ValueError>(x.defined(), "rms_norm: the tensor is undefined");
  require<DtypeError>(is_float(x.dtype()), "rms_norm: wants f32 or f64, not ", x.dtype(),
                      ": convert with to(x, Dtype::f32)");
  require<ShapeError>(x.rank() >= 1, "rms_norm: x ", x.shape(), " has no axis to normalise along");
  require<ValueError>(eps >= 0, "rms_norm: eps is ", eps, ", but must not be negative");
  if (!weight.defined()) return;
  require<ShapeError>(weight.shape() == Shape{x.size(-1)}, "rms_norm: x ", x.shape(),
                      " with weight ", weight.shape(),
                      ": it must have the size of x's last axis, [", x.size(-1), "]");
  require<DtypeError>(weight.dtype() == x.dtype(), "rms_norm: x is ", x.dtype(), " but weight ",
                      weight.dtype(), ": convert one with to(x, dtype)");
}

}  // namespace

namespace op {

struct RmsNorm final : Op {
  double eps;
  Saved x, weight;
  Tensor rstd;  // [rows]: r

  explicit RmsNorm(double epsilon) : eps(epsilon) {}
  const char* name() const override { return "rms_norm"; }
  bool is_recomputable() const override { return x.is_stored(); }

  Tensor forward(const Tensor& input, const Tensor& w) {
    x = input, weight = w;
    rstd = Tensor::empty({Rows(input).count}, input.dtype());
    return normalised(input, w, rstd);
  }

  Tensor recompute() const override {
    return normalised(x.value(), weight.value(), Tensor::empty_like(rstd));
  }

  Tensor normalised(const Tensor& input, const Tensor& w, Tensor numbers) const {
    const Tensor packed = kernel::contiguous(input);
    const Rows rows(packed);
    const Tensor scale = w.defined() ? kernel::contiguous(w) : ones({rows.length}, input.dtype());
    Tensor y = Tensor::empty_like(packed);
    dispatch_float(name(), input.dtype(), [&]<class T>() {
      const T *from = packed.data<T>(), *s = scale.data<T>();
      T *to = y.mutable_data<T>(), *kept = numbers.mutable_data<T>();
      for_rows(rows, 2, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t at = begin * rows.length;
        simd::run<rms_norm_rows<T>>(from + at, s, static_cast<T>(eps), to + at, kept + begin,
                                    end - begin, rows.length);
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
    const bool dw_wanted = weight.defined() && wants(1);
    RowSums sums(rows, dw_wanted ? rows.length : 0, x.dtype());
    Tensor dx = wants(0) ? reuse_or_empty(dy) : Tensor();
    const Tensor upstream = kernel::contiguous(dy);
    dispatch_float(name(), x.dtype(), [&]<class T>() {
      const T *from = input.data<T>(), *scale = w.data<T>(), *kept = rstd.data<T>();
      const T* in = upstream.data<T>();
      T* out = dx.defined() ? dx.mutable_data<T>() : nullptr;
      T* dw = dw_wanted ? sums.partial<T>() : nullptr;
      parallel_for(rows.count, sums.grain, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t at = begin * rows.length;
        simd::run<rms_norm_rows_backward<T>>(
            from + at, scale, kept + begin, in + at, out ? out + at : out,
            dw ? dw + begin / sums.grain * rows.length : dw, end - begin, rows.length);
      });
    });
    return {dx, dw_wanted ? sums.total(0, rows.length) : Tensor()};
  }

  Gradients formula_backward(const Tensor& dy, const Wanted& wants) {
    const Tensor input = x.value(), r = inverse_rms(input, eps);
    Gradients d(2);
    if (wants(0)) {
      const Tensor g = weight.defined() ? dy * weight.value() : dy;
      d[0] = r * (g - input * square(r) * mean(g * input, {-1}, true));
    }
    if (weight.defined() && wants(1)) d[1] = dy * (input * r);
    return d;
  }
};

}  // namespace op

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  check_arguments(x, weight, eps);
  if (formula_wanted()) {
    const Tensor xhat = x * inverse_rms(x, eps);
    return weight.defined() ? xhat * weight : xhat;
  }
  return apply(op::RmsNorm(eps), x, weight);
}

}  // namespace gradus
