// softmax and log_softmax along one axis.
//
//   softmax       y_i = exp(x_i − m) / Σ_j exp(x_j − m)       m = max_j x_j
//                dx_i = y_i (dy_i − Σ_j y_j dy_j)
//   log_softmax   y_i = x_i − m − log Σ_j exp(x_j − m)
//                dx_i = dy_i − exp(y_i) Σ_j dy_j
//
// Both save only y. An axis other than the last is transposed to the last and back. A row with m =
// −∞ yields softmax 0, log_softmax −∞ and gradient 0. +∞ and NaN yield a row of NaN.
#include "gradus/ops/softmax.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "gradus/engine/apply.h"
#include "gradus/engine/base/vmath.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/kernels/rows.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/views.h"

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

/// dx may equal dy.
template <class T>
GRADUS_INLINE void softmax_rows_backward(const T* y, const T* dy, T* dx, std::int64_t rows,
                                         std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r, y += n, dy += n, dx += n) {
    if (dx != dy) std::copy_n(dy, n, dx);  // a single array lets the loops vectorize
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

/// dx may equal dy.
template <class T>
GRADUS_INLINE void log_softmax_rows_backward(const T* y, const T* dy, T* dx, std::int64_t rows,
                                             std::int64_t n) {
  constexpr T kMasked = -std::numeric_limits<T>::infinity();
  for (std::int64_t r = 0; r < rows; ++r, y += n, dy += n, dx += n) {
    // Checks the first element before the entire row.
    if (y[0] == kMasked && vmath::max(y, n) == kMasked) {
      std::fill_n(dx, n, T(0));
      continue;
    }
    if (dx != dy) std::copy_n(dy, n, dx);  // a single array lets the loops vectorize
    const T total = vmath::sum(dx, n);
    for (std::int64_t i = 0; i < n; ++i) dx[i] -= vmath::exp(y[i]) * total;
  }
}

/// Calls kernel(at, x, y, rows, n) on chunks of rows. A chunk starts at element `at`.
template <class Kernel>
Tensor on_rows(const char* name, const Tensor& x, Tensor y, Kernel kernel) {
  const Tensor packed = kernel::contiguous(x);
  const Rows rows(packed);
  dispatch_float(name, x.dtype(), [&]<class T>() {
    const T* from = packed.data<T>();
    T* to = y.mutable_data<T>();
    for_rows(rows, 4, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t at = begin * rows.length;
      kernel(at, from + at, to + at, end - begin, rows.length);
    });
  });
  return y;
}

/// Calls kernel(y, dy, dx, rows, n) with contiguous y. dx overwrites dy if unshared.
template <class Kernel>
Tensor on_rows_backward(const char* name, const Tensor& y, const Tensor& dy, Kernel kernel) {
  return on_rows(name, dy, reuse_or_empty(dy),
                 [&]<class T>(std::int64_t at, const T* dy, auto... rest) {
                   kernel(y.data<T>() + at, dy, rest...);
                 });
}

Axes last_axis(const Tensor& x) { return x.rank() == 0 ? Axes{} : Axes{-1}; }

}  // namespace

namespace op {

struct Softmax final : Op {
  Saved y;

  const char* name() const override { return "softmax"; }

  Tensor forward(const Tensor& x) {
    Tensor result = on_rows(name(), x, Tensor::empty_like(x),
                            []<class T>(std::int64_t, const T* x, auto... rest) {
                              simd::run<softmax_rows<T>>(x, rest...);
                            });
    y = result;
    return result;
  }

  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    if (GradMode::enabled() || formula_wanted()) {
      const Tensor p = attached(y);
      const Tensor inner = sum(p * dy, last_axis(p), true);
      return {p * (dy - inner)};
    }
    return {on_rows_backward(name(), y.value(), dy, []<class T>(const T* y, auto... rest) {
      simd::run<softmax_rows_backward<T>>(y, rest...);
    })};
  }
};

struct LogSoftmax final : Op {
  Saved y;

  const char* name() const override { return "log_softmax"; }

  Tensor forward(const Tensor& x) {
    Tensor result = on_rows(name(), x, Tensor::empty_like(x),
                            []<class T>(std::int64_t, const T* x, auto... rest) {
                              simd::run<log_softmax_rows<T>>(x, rest...);
                            });
    y = result;
    return result;
  }

  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    if (GradMode::enabled() || formula_wanted()) return {formula_backward(dy)};
    return {on_rows_backward(name(), y.value(), dy, []<class T>(const T* y, auto... rest) {
      simd::run<log_softmax_rows_backward<T>>(y, rest...);
    })};
  }

  Tensor formula_backward(const Tensor& dy) {
    const Tensor log_p = attached(y);
    if (log_p.numel() == 0) return dy;
    const Axes axes = last_axis(log_p);
    const Tensor dx = dy - exp(log_p) * sum(dy, axes, true);
    const Tensor all_masked =
        equal(max(y.value(), axes, true), -std::numeric_limits<double>::infinity());
    return masked_fill(dx, all_masked, 0);
  }
};

}  // namespace op

namespace {

/// Applies Operation along `axis`, which is transposed to the last.
template <class Operation>
Tensor along(const Tensor& x, int axis) {
  Operation op;
  check_float(op.name(), x);
  axis = normalize_axis(op.name(), axis, std::max(x.rank(), 1));  // rank 0 has one axis, of size 1
  if (axis >= x.rank() - 1) return apply(std::move(op), x);
  const Tensor y = apply(std::move(op), transpose(x, axis, -1));
  return contiguous(transpose(y, axis, -1));
}

}  // namespace

Tensor softmax(const Tensor& x, int axis) { return along<op::Softmax>(x, axis); }
Tensor log_softmax(const Tensor& x, int axis) { return along<op::LogSoftmax>(x, axis); }

}  // namespace gradus
