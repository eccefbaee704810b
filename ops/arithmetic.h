// Element-wise arithmetic of two tensors, or of a tensor and a C++ number, which is converted to
// the tensor's dtype. Shapes broadcast as in NumPy. Supports f32 and f64; + − × maximum minimum
// also support i64.
//
// Throw ValueError for an undefined tensor, ShapeError if shapes do not broadcast, and DtypeError
// for different or unsupported dtypes or an i64 tensor with a non-integer number.
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

// x += y rebinds x to x + y. If x is a leaf that requires a gradient (a parameter), writes in place
// under NoGrad and throws GraphError otherwise.
Tensor& operator+=(Tensor& x, const Tensor& y);
Tensor& operator-=(Tensor& x, const Tensor& y);
Tensor& operator*=(Tensor& x, const Tensor& y);
Tensor& operator/=(Tensor& x, const Tensor& y);
Tensor& operator+=(Tensor& x, Scalar y);
Tensor& operator-=(Tensor& x, Scalar y);
Tensor& operator*=(Tensor& x, Scalar y);
Tensor& operator/=(Tensor& x, double y);

/// x^exponent, broadcast. The derivative with respect to the exponent is x^exponent · log x, and 0
/// at x = 0.
Tensor pow(const Tensor& x, const Tensor& exponent);
/// The larger or smaller of a and b. NaN wins. At a tie, each receives half of the gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);

/// Converts x to `dtype`, or returns x if it has that dtype. Differentiable between f32 and f64.
Tensor to(const Tensor& x, Dtype dtype);

}  // namespace gradus
