// Element-wise arithmetic. Shapes broadcast as in NumPy; dtypes must be equal (a C++ number takes
// the tensor's). f32 and f64; + − × and comparisons also i64.
#pragma once

#include "gradus/engine/broadcast.h"  // sum_to, expand
#include "gradus/engine/tensor.h"

namespace gradus {

Tensor add(const Tensor& a, const Tensor& b);       // a + b
Tensor subtract(const Tensor& a, const Tensor& b);  // a − b
Tensor multiply(const Tensor& a, const Tensor& b);  // a · b
Tensor divide(const Tensor& a, const Tensor& b);    // a / b
Tensor scale(const Tensor& x, double factor);       // factor · x
Tensor shift(const Tensor& x, double term);         // x + term
Tensor negative(const Tensor& x);                   // −x

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return subtract(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return multiply(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return divide(a, b); }
inline Tensor operator+(const Tensor& x, double c) { return shift(x, c); }
inline Tensor operator+(double c, const Tensor& x) { return shift(x, c); }
inline Tensor operator-(const Tensor& x, double c) { return shift(x, -c); }
inline Tensor operator-(double c, const Tensor& x) { return shift(negative(x), c); }
inline Tensor operator*(const Tensor& x, double c) { return scale(x, c); }
inline Tensor operator*(double c, const Tensor& x) { return scale(x, c); }
inline Tensor operator/(const Tensor& x, double c) { return scale(x, 1 / c); }
Tensor operator/(double c, const Tensor& x);
inline Tensor operator-(const Tensor& x) { return negative(x); }

// x += y makes x name x + y, so that what was computed from x before stays as it was. A leaf whose
// gradient is wanted (a parameter) is written in place instead, under NoGrad; GraphError otherwise.
Tensor& operator+=(Tensor& x, const Tensor& y);
Tensor& operator-=(Tensor& x, const Tensor& y);
Tensor& operator*=(Tensor& x, const Tensor& y);
Tensor& operator/=(Tensor& x, const Tensor& y);
Tensor& operator+=(Tensor& x, double y);
Tensor& operator-=(Tensor& x, double y);
Tensor& operator*=(Tensor& x, double y);
Tensor& operator/=(Tensor& x, double y);

Tensor pow(const Tensor& x, double exponent);  // x^exponent; dx = exponent · x^(exponent−1) · dy
Tensor pow(const Tensor& x,
           const Tensor& exponent);  // d exponent = x^exponent · log x (0 at x = 0)
Tensor square(const Tensor& x);      // x²
Tensor exp(const Tensor& x);
Tensor expm1(const Tensor& x);  // exp x − 1, exact near 0
Tensor log(const Tensor& x);
Tensor log1p(const Tensor& x);  // log(1 + x), exact near 0
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);       // 1 / √x
Tensor reciprocal(const Tensor& x);  // 1 / x
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);  // 1 / (1 + exp −x)
Tensor erf(const Tensor& x);
Tensor abs(const Tensor& x);    // derivative 0 at 0
Tensor floor(const Tensor& x);  // derivative 0
Tensor round(const Tensor& x);  // half to even; derivative 0
Tensor sign(const Tensor& x);   // −1, 0, 1; derivative 0
Tensor maximum(const Tensor& a,
               const Tensor& b);  // a tie gives each half of the gradient; NaN wins
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor clamp(const Tensor& x, double low,
             double high);  // derivative 1 on [low, high], ends included

/// x converted to another dtype; the gradient comes back converted. Recorded between f32 and f64.
Tensor to(const Tensor& x, Dtype dtype);

}  // namespace gradus
