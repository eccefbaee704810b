// layer_norm and rms_norm: center each row of the last axis [C] (rms_norm: μ = 0), divide it by its
// root mean square, scale and shift it.
//
//   x̂_i = (x_i − μ) r,   μ = mean x,   r = 1 / √(mean (x − μ)² + eps)
//   y_i = x̂_i w_i + b_i
//
//   g_i  = dy_i w_i
//   dx_i = r (g_i − mean g − x̂_i mean(g x̂))     dw_i = Σ_rows dy_i x̂_i     db_i = Σ_rows dy_i
//
// rms_norm also omits mean g. Saves x, μ and r, from which later ops recompute the output.
#include "gradus/ops/normalization.h"

#include <algorithm>
#include <cmath>

#include "gradus/engine/apply.h"
#include "gradus/engine/base/vmath.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/reduce.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/kernels/rows.h"
#include "gradus/ops/kernels/through_formula.h"
#include "gradus/ops/reduce.h"

namespace gradus {
namespace {

/// y = (x − μ) r w + b, with μ = 0 unless `centred`.
template <class T>
struct RowRule {
  bool centred;
  T eps;
  const T *w, *b;
};

/// Writes μ and r for each row to statistics [rows, 2].
template <class T>
GRADUS_INLINE void norm_rows(RowRule<T> rule, const T* x, T* y, T* statistics, std::int64_t rows,
                             std::int64_t n) {
  const T *w = rule.w, *b = rule.b;
  const bool centred = rule.centred;
  const T count = static_cast<T>(n), eps = rule.eps;
  for (std::int64_t r = 0; r < rows; ++r, x += n, y += n, statistics += 2) {
    const T mu = centred ? vmath::sum(x, n) / count : T{0};
    const T spread = vmath::sum_of<T>(n, [=](std::int64_t i) { return (x[i] - mu) * (x[i] - mu); });
    const T rstd = T(1) / std::sqrt(spread / count + eps);
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mu) * rstd * w[i] + b[i];
    statistics[0] = mu;
    statistics[1] = rstd;
  }
}

/// Adds to dw and db. dx may equal dy. dx or dw_db is null if not needed.
template <class T>
GRADUS_INLINE void norm_rows_backward(RowRule<T> rule, const T* x, const T* statistics, const T* dy,
                                      T* dx, T* dw_db, std::int64_t rows, std::int64_t n) {
  const T* w = rule.w;
  const bool centred = rule.centred;
  const T count = static_cast<T>(n);
  for (std::int64_t r = 0; r < rows; ++r, x += n, dy += n, statistics += 2) {
    const T mu = statistics[0], rstd = statistics[1];
    if (dw_db) {
      for (std::int64_t i = 0; i < n; ++i) dw_db[i] += dy[i] * ((x[i] - mu) * rstd);
      for (std::int64_t i = 0; i < n; ++i) dw_db[n + i] += dy[i];
    }
    if (!dx) continue;
    if (dx != dy) std::copy_n(dy, n, dx);  // a single array lets the loops vectorize
    const T* g = dx;
    const T mean_g = centred ? vmath::dot(g, w, n) / count : T{0};
    const T along = vmath::sum_of<T>(n, [=](std::int64_t i) { return g[i] * w[i] * (x[i] - mu); });
    const T slope = along * rstd * rstd / count;  // r mean(g x̂)
    for (std::int64_t i = 0; i < n; ++i)
      dx[i] = rstd * (dx[i] * w[i] - mean_g - (x[i] - mu) * slope);
    dx += n;
  }
}

/// Computes x̂ w + b with public ops.
Tensor norm_formula(const Tensor& x, const Tensor& w, const Tensor& b, bool centred, double eps) {
  const Tensor offset = centred ? x - mean(x, -1, true) : x;
  Tensor y = offset * rsqrt(mean(square(offset), -1, true) + eps);  // x̂
  if (w.defined()) y = y * w;
  return b.defined() ? y + b : y;
}

void check_arguments(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                     double eps) {
  check_float(op, x);
  require<ShapeError>(x.rank() >= 1, op, ": x ", x.shape(),
                      " has no axis to normalize. Pass at least one axis.");
  require<ValueError>(eps >= 0, op, ": eps must not be negative, got ", eps);
  check_parameter(op, x, -1, "weight", weight);
  check_parameter(op, x, -1, "bias", bias);
}

}  // namespace

namespace op {

struct RowNorm final : Op {
  bool centred;  // true for layer_norm
  double eps;
  Saved x, weight, bias;
  Tensor statistics;  // [rows, 2]: μ, r

  RowNorm(bool centred, double eps) : centred(centred), eps(eps) {}
  const char* name() const override { return centred ? "layer_norm" : "rms_norm"; }
  bool is_recomputable() const override { return x.is_stored(); }

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
        simd::run<norm_rows<T>>(RowRule<T>{centred, static_cast<T>(eps), s, t}, from + at, to + at,
                                kept + 2 * begin, end - begin, rows.length);
      });
    });
    return y;
  }

  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    if (GradMode::enabled() || formula_wanted())
      return through_formula(dy, needs_grad, {x.value(), weight.value(), bias.value()},
                             [this](const std::vector<Tensor>& in) {
                               return norm_formula(in[0], in[1], in[2], centred, eps);
                             });
    const Tensor input = kernel::contiguous(x.value());
    const Rows rows(input);
    const Tensor w =
        weight.defined() ? kernel::contiguous(weight.value()) : ones({rows.length}, x.dtype());
    const bool dw_wanted = needs_grad(1), db_wanted = needs_grad(2);
    const std::int64_t grain = summing_grain(rows);
    Tensor sums;  // dw and db of each chunk of rows
    if (dw_wanted || db_wanted)
      sums = zeros({(rows.count + grain - 1) / grain, 2, rows.length}, x.dtype());
    Tensor dx = needs_grad(0) ? reuse_or_empty(dy) : Tensor();
    const Tensor upstream = kernel::contiguous(dy);
    dispatch_float(name(), x.dtype(), [&]<class T>() {
      const T *from = input.data<T>(), *scale = w.data<T>(), *kept = statistics.data<T>();
      const T* in = upstream.data<T>();
      T* out = dx.defined() ? dx.mutable_data<T>() : nullptr;
      T* dw_db = sums.defined() ? sums.mutable_data<T>() : nullptr;
      parallel_for(rows.count, grain, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t at = begin * rows.length;
        simd::run<norm_rows_backward<T>>(RowRule<T>{centred, static_cast<T>(eps), scale, nullptr},
                                         from + at, kept + 2 * begin, in + at, out ? out + at : out,
                                         dw_db ? dw_db + begin / grain * 2 * rows.length : dw_db,
                                         end - begin, rows.length);
      });
    });
    const auto total = [&](std::int64_t which) {
      const Tensor part = kernel::strided_view(sums, {sums.size(0), rows.length},
                                               {2 * rows.length, 1}, which * rows.length);
      return kernel::sum(name(), part, reduced(name(), part, {0}, false));
    };
    return {dx, dw_wanted ? total(0) : Tensor(), db_wanted ? total(1) : Tensor()};
  }
};

}  // namespace op

namespace {

Tensor row_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, bool centred,
                double eps) {
  check_arguments(centred ? "layer_norm" : "rms_norm", x, weight, bias, eps);
  if (formula_wanted()) return norm_formula(x, weight, bias, centred, eps);
  return apply(op::RowNorm(centred, eps), x, weight, bias);
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  return row_norm(x, weight, bias, true, eps);
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  return row_norm(x, weight, {}, false, eps);
}

}  // namespace gradus
