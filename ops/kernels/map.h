// map and zip: apply an element-wise function to tensors with any strides.
//
// The function is a generic lambda that calls GRADUS_INLINE functions.
#pragma once

#include "gradus/engine/base/simd.h"
#include "gradus/engine/strided.h"
#include "gradus/engine/tensor.h"
#include "gradus/ops/kernels/checks.h"

namespace gradus {

template <class R, class T, class F>
GRADUS_INLINE void map_row(const T* x, std::int64_t x_step, R* y, std::int64_t n, F f) {
  if (x_step == 1)  // fast path: vectorizes
    for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
  else
    for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i * x_step]);
}

template <class R, class T, class F>
GRADUS_INLINE void zip_row(const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, R* y,
                           std::int64_t n, F f) {
  // The last loop handles all strides; the others are fast paths.
  if (a_step == 1 && b_step == 1) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
  } else if (a_step == 1 && b_step == 0) {
    const T same = *b;
    for (std::int64_t i = 0; i < n; ++i) y[i] = f(a[i], same);
  } else if (a_step == 0 && b_step == 1) {
    const T same = *a;
    for (std::int64_t i = 0; i < n; ++i) y[i] = f(same, b[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i] = f(a[i * a_step], b[i * b_step]);
  }
}

/// y[i] = f(x[i]). y is contiguous, has dtype R, and may equal x. T must match x's dtype.
template <class T, class R = T, class F>
void map_into(Tensor& y, const Tensor& x, F f) {
  const T* from = x.data<T>();
  R* to = y.mutable_data<R>();
  // fast path
  if (x.numel() <= kSmall && x.is_contiguous())
    return simd::run<map_row<R, T, F>>(from, 1, to, x.numel(), f);
  const Strides strides[] = {x.strides(), y.strides()};
  for_each_row(y.shape(), strides, [&](const Offsets& at, std::int64_t n, const Offsets& step) {
    simd::run<map_row<R, T, F>>(from + at[0], step[0], to + at[1], n, f);
  });
}

/// y[i] = f(a[i], b[i]), with a and b broadcast to y's shape. y is contiguous and may equal a or b.
template <class T, class R = T, class F>
void zip_into(Tensor& y, const Tensor& a, const Tensor& b, F f) {
  const T *left = a.data<T>(), *right = b.data<T>();
  R* to = y.mutable_data<R>();
  // fast path
  if (y.numel() <= kSmall && a.shape() == b.shape() && a.is_contiguous() && b.is_contiguous())
    return simd::run<zip_row<R, T, F>>(left, 1, right, 1, to, y.numel(), f);
  const Strides strides[] = {broadcast_strides(a.shape(), a.strides(), y.shape()),
                             broadcast_strides(b.shape(), b.strides(), y.shape()), y.strides()};
  for_each_row(y.shape(), strides, [&](const Offsets& at, std::int64_t n, const Offsets& step) {
    simd::run<zip_row<R, T, F>>(left + at[0], step[0], right + at[1], step[1], to + at[2], n, f);
  });
}

inline Tensor empty_for(const char* op, const Tensor& a, const Tensor& b, Dtype dtype) {
  return Tensor::empty(broadcast_shapes(op, a.shape(), b.shape()), dtype);
}

enum class Numbers { floats, all };  // floats: f32 and f64; all: also i64

template <Numbers kNumbers, class F>
decltype(auto) dispatch_numbers(const char* op, Dtype dtype, F&& f) {
  if constexpr (kNumbers == Numbers::floats)
    return dispatch_float(op, dtype, f);
  else
    return dispatch_number(op, dtype, f);
}

template <Numbers kNumbers = Numbers::floats, class F>
Tensor map(const char* op, const Tensor& x, F f) {
  check_defined(op, x);
  return dispatch_numbers<kNumbers>(op, x.dtype(), [&]<class T>() {
    Tensor y = Tensor::empty_like(x);
    map_into<T>(y, x, f);
    return y;
  });
}

template <Numbers kNumbers = Numbers::floats, class F>
Tensor zip(const char* op, const Tensor& a, const Tensor& b, F f) {
  check_pair(op, a, b);
  return dispatch_numbers<kNumbers>(op, a.dtype(), [&]<class T>() {
    Tensor y = empty_for(op, a, b, a.dtype());
    zip_into<T>(y, a, b, f);
    return y;
  });
}

/// Computes dx = f(x, dy), in the buffer of x or dy if unshared.
template <class F>
Tensor zip_backward(const char* op, const Tensor& x, const Tensor& dy, F f) {
  Tensor dx = x.has_unique_storage() && x.is_contiguous() ? x.detach() : reuse_or_empty(dy);
  dispatch_float(op, x.dtype(), [&]<class T>() { zip_into<T>(dx, x, dy, f); });
  return dx;
}

}  // namespace gradus
