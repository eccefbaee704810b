// Element-wise arithmetic of two tensors, or of a tensor and a C++ number, which takes the tensor's
// dtype. Shapes broadcast as in NumPy: sizes, aligned at the right, are equal or one of them is 1.
// f32 and f64; + − × maximum minimum also i64.
//
// ValueError for an undefined tensor; DtypeError for operands of two dtypes, for another dtype, and
// for an i64 tensor with a number that is no integer; ShapeError where shapes do not broadcast.
#pragma once

#include "gradus/engine/broadcast.h"  // sum_to, expand
#include "gradus/engine/tensor.h"
#include "gradus/ops/unary.h"

namespace gradus {

Tensor add(const Tensor& a, const Tensor& b);       // a + b
Tensor subtract(const Tensor& a, const Tensor& b);  // a − b
Tensor multiply(const Tensor& a, const Tensor& b);  // a · b
Tensor divide(const Tensor& a, const Tensor& b);    // a / b
Tensor scale(const Tensor& x, Scalar factor);       // factor · x
Tensor shift(const Tensor& x, Scalar term);         // x + term
Tensor negative(const Tensor& x);                   // −x

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
Tensor operator+(const Tensor& a, Tensor&& b);  // may use b's buffer: b is undefined then
inline Tensor operator-(const Tensor& a, const Tensor& b) { return subtract(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return multiply(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return divide(a, b); }
inline Tensor operator+(const Tensor& x, Scalar c) { return shift(x, c); }
inline Tensor operator+(Scalar c, const Tensor& x) { return shift(x, c); }
inline Tensor operator-(const Tensor& x, Scalar c) { return shift(x, -c); }
inline Tensor operator-(Scalar c, const Tensor& x) { return shift(negative(x), c); }
inline Tensor operator*(const Tensor& x, Scalar c) { return scale(x, c); }
inline Tensor operator*(Scalar c, const Tensor& x) { return scale(x, c); }
inline Tensor operator/(const Tensor& x, double c) { return scale(x, 1 / c); }
Tensor operator/(double c, const Tensor& x);
inline Tensor operator-(const Tensor& x) { return negative(x); }

// x += y makes x name x + y, so that what was computed from x before stays as it was. A leaf whose
// gradient is wanted (a parameter) is written in place instead, under NoGrad; GraphError otherwise.
Tensor& operator+=(Tensor& x, const Tensor& y);
Tensor& operator-=(Tensor& x, const Tensor& y);
Tensor& operator*=(Tensor& x, const Tensor& y);
Tensor& operator/=(Tensor& x, const Tensor& y);
Tensor& operator+=(Tensor& x, Scalar y);
Tensor& operator-=(Tensor& x, Scalar y);
Tensor& operator*=(Tensor& x, Scalar y);
Tensor& operator/=(Tensor& x, double y);

/// x^exponent, broadcast; the derivative by the exponent is x^exponent · log x, 0 at x = 0.
Tensor pow(const Tensor& x, const Tensor& exponent);
/// The larger, or the smaller, of both. NaN wins; a tie gives half of the gradient to each.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);

/// x converted to another dtype; x itself where it has it. The gradient comes back converted, and
/// only between f32 and f64.
Tensor to(const Tensor& x, Dtype dtype);

}  // namespace gradus
