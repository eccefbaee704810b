// softmax and log_softmax along one axis.
//
//   softmax       y_i = exp(x_i − m) / Σ_j exp(x_j − m)       m = max_j x_j
//                dx_i = y_i (dy_i − Σ_j y_j dy_j)
//   log_softmax   y_i = x_i − m − log Σ_j exp(x_j − m)
//                dx_i = dy_i − exp(y_i) Σ_j dy_j
//
// Only y is remembered: neither derivative mentions x. The kernels work on rows along the last
// axis; another axis is exchanged with it, in a copy, and back. A row whose m is −∞ has nothing to
// share out: softmax gives 0, log_softmax −∞, and the gradient is 0. +∞ and NaN make a row of NaN.
#include "gradus/ops/softmax.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "gradus/base/vmath.h"
#include "gradus/engine/apply.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/kernels/rows.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/reduce.h"

namespace gradus {
namespace {

template <class T>
GRADUS_INLINE void softmax_rows(const T* x, T* y, std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const T m = vmath::max(x, n);
    if (m == -std::numeric_limits<T>::infinity()) {
      std::fill_n(y, n, T(0));
      continue;
    }
    for (std::int64_t i = 0; i < n; ++i) y[i] = vmath::exp(x[i] - m);
    const T share = T(1) / vmath::sum(y, n);
    for (std::int64_t i = 0; i < n; ++i) y[i] *= share;
  }
}

/// dx may be dy itself.
template <class T>
GRADUS_INLINE void softmax_rows_backward(const T* y, const T* dy, T* dx, std::int64_t rows,
                                         std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r, y += n, dy += n, dx += n) {
    if (dx != dy) std::copy_n(dy, n, dx);
    const T inner = vmath::dot(y, dx, n);
    for (std::int64_t i = 0; i < n; ++i) dx[i] = y[i] * (dx[i] - inner);
  }
}

template <class T>
GRADUS_INLINE void log_softmax_rows(const T* x, T* y, std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const T m = vmath::max(x, n);
    if (m == -std::numeric_limits<T>::infinity()) {
      std::fill_n(y, n, m);
      continue;
    }
    const T total = vmath::sum_of<T>(n, [=](std::int64_t i) { return vmath::exp(x[i] - m); });
    const T log_total = vmath::log(total);
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) - log_total;
  }
}

/// dx may be dy itself.
template <class T>
GRADUS_INLINE void log_softmax_rows_backward(const T* y, const T* dy, T* dx, std::int64_t rows,
                                             std::int64_t n) {
  constexpr T kMasked = -std::numeric_limits<T>::infinity();
  for (std::int64_t r = 0; r < rows; ++r, y += n, dy += n, dx += n) {
    if (y[0] == kMasked && vmath::max(y, n) == kMasked) {
      std::fill_n(dx, n, T(0));
      continue;
    }
    if (dx != dy) std::copy_n(dy, n, dx);
    const T total = vmath::sum(dx, n);
    for (std::int64_t i = 0; i < n; ++i) dx[i] -= vmath::exp(y[i]) * total;
  }
}

bool is_last(const Tensor& x, int axis) { return axis >= x.rank() - 1; }

/// x with `axis` and the last one exchanged: a view. Twice gives x.
Tensor exchanged(const Tensor& x, int axis) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  std::swap(shape[axis], shape[x.rank() - 1]);
  std::swap(strides[axis], strides[x.rank() - 1]);
  return kernel::strided_view(x, shape, strides, x.offset());
}

/// kernel(x, y, rows, n) on chunks of rows of x along `axis`.
template <class Kernel>
Tensor on_rows(const char* name, const Tensor& x, int axis, Kernel kernel) {
  if (!is_last(x, axis))
    return kernel::contiguous(
        exchanged(on_rows(name, exchanged(x, axis), x.rank() - 1, kernel), axis));
  const Tensor packed = kernel::contiguous(x);
  Tensor y = Tensor::empty_like(packed);
  const Rows rows(packed);
  dispatch_float(name, x.dtype(), [&]<class T>() {
    const T* from = packed.data<T>();
    T* to = y.mutable_data<T>();
    for_rows(rows, 4, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t at = begin * rows.length;
      kernel(from + at, to + at, end - begin, rows.length);
    });
  });
  return y;
}

/// kernel(y, dy, dx, rows, n) likewise; dx takes dy's place where nobody else holds it.
template <class Kernel>
Tensor on_rows_backward(const Tensor& y, const Tensor& dy, int axis, Kernel kernel) {
  if (!is_last(y, axis)) {
    const Tensor dx =
        on_rows_backward(exchanged(y, axis), exchanged(dy, axis), y.rank() - 1, kernel);
    return kernel::contiguous(exchanged(dx, axis));
  }
  Tensor dx = reuse_or_empty(dy);
  const Tensor packed_y = kernel::contiguous(y), packed_dy = kernel::contiguous(dy);
  const Rows rows(y);
  dispatch_float("softmax", y.dtype(), [&]<class T>() {
    const T *output = packed_y.data<T>(), *upstream = packed_dy.data<T>();
    T* to = dx.mutable_data<T>();
    for_rows(rows, 4, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t at = begin * rows.length;
      kernel(output + at, upstream + at, to + at, end - begin, rows.length);
    });
  });
  return dx;
}

/// `axis` counted from the front; a tensor of rank 0 has one, of size 1.
int checked_axis(const char* name, const Tensor& x, int axis) {
  require<ValueError>(x.defined(), name, ": the tensor is undefined");
  require<DtypeError>(is_float(x.dtype()), name, ": wants f32 or f64, not ", x.dtype(),
                      ": convert with to(x, Dtype::f32)");
  return normal_axis(name, axis, std::max(x.rank(), 1));
}

Axes axes_for_sum(const Tensor& x, int axis) { return x.rank() == 0 ? Axes{} : Axes{axis}; }

}  // namespace

namespace op {

struct Softmax final : Op {
  int axis;
  Saved y;

  explicit Softmax(int along) : axis(along) {}
  const char* name() const override { return "softmax"; }

  Tensor forward(const Tensor& x) {
    Tensor result = on_rows(name(), x, axis, []<class T>(const T* x, auto... rest) {
      simd::run<softmax_rows<T>>(x, rest...);
    });
    y = result;
    return result;
  }

  Gradients backward(const Tensor& dy, const Wanted&) override {
    if (GradMode::enabled() || formula_wanted()) {
      const Tensor p = attached(y);
      const Tensor inner = sum(p * dy, axes_for_sum(p, axis), true);
      return {p * (dy - inner)};
    }
    return {on_rows_backward(y.value(), dy, axis, []<class T>(const T* y, auto... rest) {
      simd::run<softmax_rows_backward<T>>(y, rest...);
    })};
  }
};

struct LogSoftmax final : Op {
  int axis;
  Saved y;

  explicit LogSoftmax(int along) : axis(along) {}
  const char* name() const override { return "log_softmax"; }

  Tensor forward(const Tensor& x) {
    Tensor result = on_rows(name(), x, axis, []<class T>(const T* x, auto... rest) {
      simd::run<log_softmax_rows<T>>(x, rest...);
    });
    y = result;
    return result;
  }

  Gradients backward(const Tensor& dy, const Wanted&) override {
    if (GradMode::enabled() || formula_wanted()) return {formula_backward(dy)};
    return {on_rows_backward(y.value(), dy, axis, []<class T>(const T* y, auto... rest) {
      simd::run<log_softmax_rows_backward<T>>(y, rest...);
    })};
  }

  Tensor formula_backward(const Tensor& dy) {
    const Tensor log_p = attached(y);
    if (log_p.numel() == 0) return dy;
    const Axes axes = axes_for_sum(log_p, axis);
    const Tensor dx = dy - exp(log_p) * sum(dy, axes, true);
    const Tensor all_masked =
        equal(max(y.value(), axes, true), -std::numeric_limits<double>::infinity());
    return masked_fill(dx, all_masked, 0);
  }
};

}  // namespace op

Tensor softmax(const Tensor& x, int axis) {
  return apply(op::Softmax(checked_axis("softmax", x, axis)), x);
}

Tensor log_softmax(const Tensor& x, int axis) {
  return apply(op::LogSoftmax(checked_axis("log_softmax", x, axis)), x);
}

}  // namespace gradus
