// Element-wise arithmetic of two tensors, or of a tensor and a C++ number in the tensor's dtype.
// Shapes broadcast like NumPy's: aligned at the right, sizes are equal or one of them is 1. f32 and
// f64; + − × maximum minimum also i64.
//
// Throws ValueError for an undefined tensor, DtypeError for operands of different or unsupported
// dtypes and for i64 with a non-integer number, ShapeError if shapes do not broadcast.
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
Tensor operator+(const Tensor& a, Tensor&& b);  // may use b's buffer; b is then undefined
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

// x += y rebinds x to x + y; earlier results do not change. If x is a leaf that requires a gradient
// (a parameter), writes in place under NoGrad and throws GraphError otherwise.
Tensor& operator+=(Tensor& x, const Tensor& y);
Tensor& operator-=(Tensor& x, const Tensor& y);
Tensor& operator*=(Tensor& x, const Tensor& y);
Tensor& operator/=(Tensor& x, const Tensor& y);
Tensor& operator+=(Tensor& x, Scalar y);
Tensor& operator-=(Tensor& x, Scalar y);
Tensor& operator*=(Tensor& x, Scalar y);
Tensor& operator/=(Tensor& x, double y);

/// x^exponent, broadcast. The derivative by the exponent is x^exponent · log x, 0 at x = 0.
Tensor pow(const Tensor& x, const Tensor& exponent);
/// The larger or smaller of both. NaN wins. In a tie, each gets half of the gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);

/// Converts x to another dtype; returns x if it has it. Differentiable between f32 and f64.
Tensor to(const Tensor& x, Dtype dtype);

}  // namespace gradus
