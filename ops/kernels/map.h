// map and zip: one element-wise function over whole tensors, whatever their strides.
//
// The function is a small lambda over any number type, its body made of GRADUS_INLINE functions;
// the row loops below are called by simd::run, so that it is compiled for each instruction set.
#pragma once

#include "gradus/base/simd.h"
#include "gradus/engine/strided.h"
#include "gradus/engine/tensor.h"

namespace gradus {

template <class R, class T, class F>
GRADUS_INLINE void map_row(const T* x, std::int64_t x_step, R* y, std::int64_t n, F f) {
  if (x_step == 1)
    for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
  else
    for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i * x_step]);
}

template <class R, class T, class F>
GRADUS_INLINE void zip_row(const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, R* y,
                           std::int64_t n, F f) {
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

/// y[i] = f(x[i]); y is contiguous, of dtype R, and may be x itself. T must be x's type: call it
/// inside dispatch.
template <class T, class R = T, class F>
void map_into(Tensor& y, const Tensor& x, F f) {
  const T* from = x.data<T>();
  R* to = y.mutable_data<R>();
  if (x.numel() <= kSmall && x.is_contiguous())
    return simd::run<map_row<R, T, F>>(from, 1, to, x.numel(), f);
  const Strides strides[] = {x.strides(), y.strides()};
  for_each_row(y.shape(), strides, [&](const Offsets& at, std::int64_t n, const Offsets& step) {
    simd::run<map_row<R, T, F>>(from + at[0], step[0], to + at[1], n, f);
  });
}

/// y[i] = f(a[i], b[i]) with a and b broadcast to y's shape; y is contiguous, and may be a or b.
template <class T, class R = T, class F>
void zip_into(Tensor& y, const Tensor& a, const Tensor& b, F f) {
  const T *left = a.data<T>(), *right = b.data<T>();
  R* to = y.mutable_data<R>();
  if (y.numel() <= kSmall && a.shape() == b.shape() && a.is_contiguous() && b.is_contiguous())
    return simd::run<zip_row<R, T, F>>(left, 1, right, 1, to, y.numel(), f);
  const Strides strides[] = {broadcast_strides(a.shape(), a.strides(), y.shape()),
                             broadcast_strides(b.shape(), b.strides(), y.shape()), y.strides()};
  for_each_row(y.shape(), strides, [&](const Offsets& at, std::int64_t n, const Offsets& step) {
    simd::run<zip_row<R, T, F>>(left + at[0], step[0], right + at[1], step[1], to + at[2], n, f);
  });
}

inline void check_defined(const char* op, const Tensor& x) {
  require<ValueError>(x.defined(), op,
                      ": the tensor is undefined (no numbers were ever put in it)");
}

inline void check_bool(const char* op, const Tensor& x) {
  check_defined(op, x);
  require<DtypeError>(x.dtype() == Dtype::bool_, op, ": wants bool tensors, not ", x.dtype(), " ",
                      x.shape(), ": compare first, as in not_equal(x, 0)");
}

/// Both are defined and of one dtype.
inline void check_pair(const char* op, const Tensor& a, const Tensor& b) {
  check_defined(op, a);
  check_defined(op, b);
  require<DtypeError>(a.dtype() == b.dtype(), op, ": the operands are ", a.dtype(), " ", a.shape(),
                      " and ", b.dtype(), " ", b.shape(), ": convert one with to(x, dtype)");
}

/// An empty tensor for the result of a and b broadcast together.
inline Tensor empty_for(const char* op, const Tensor& a, const Tensor& b, Dtype dtype) {
  if (a.shape() == b.shape()) return Tensor::empty(a.shape(), dtype);
  return Tensor::empty(broadcast_shapes(op, a.shape(), b.shape()), dtype);
}

/// f over x, f32 or f64; `op` is named when x is neither.
template <class F>
Tensor map(const char* op, const Tensor& x, F f) {
  check_defined(op, x);
  return dispatch_float(op, x.dtype(), [&]<class T>() {
    Tensor y = Tensor::empty_like(x);
    map_into<T>(y, x, f);
    return y;
  });
}

/// f over a and b broadcast together, both f32 or both f64.
template <class F>
Tensor zip(const char* op, const Tensor& a, const Tensor& b, F f) {
  check_pair(op, a, b);
  return dispatch_float(op, a.dtype(), [&]<class T>() {
    Tensor y = empty_for(op, a, b, a.dtype());
    zip_into<T>(y, a, b, f);
    return y;
  });
}

/// The same where integers make sense: f32, f64 or i64.
template <class F>
Tensor map_numbers(const char* op, const Tensor& x, F f) {
  check_defined(op, x);
  return dispatch_number(op, x.dtype(), [&]<class T>() {
    Tensor y = Tensor::empty_like(x);
    map_into<T>(y, x, f);
    return y;
  });
}

template <class F>
Tensor zip_numbers(const char* op, const Tensor& a, const Tensor& b, F f) {
  check_pair(op, a, b);
  return dispatch_number(op, a.dtype(), [&]<class T>() {
    Tensor y = empty_for(op, a, b, a.dtype());
    zip_into<T>(y, a, b, f);
    return y;
  });
}

/// dx = f(x, dy), written over x or dy where nobody else sees one of them.
template <class F>
Tensor zip_backward(const char* op, const Tensor& x, const Tensor& dy, F f) {
  Tensor dx = x.has_unique_storage() && x.is_contiguous() ? x.detach() : reuse_or_empty(dy);
  dispatch_float(op, x.dtype(), [&]<class T>() { zip_into<T>(dx, x, dy, f); });
  return dx;
}

}  // namespace gradus
