// Functions of one tensor, element by element: f32 or f64 [...] → the same shape and dtype.
// ValueError for an undefined tensor; DtypeError for another dtype.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

Tensor exp(const Tensor& x);
Tensor expm1(const Tensor& x);  // exp x − 1, exact near 0
Tensor log(const Tensor& x);
Tensor log1p(const Tensor& x);  // log(1 + x), exact near 0
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);  // 1 / (1 + exp −x)
Tensor erf(const Tensor& x);

Tensor square(const Tensor& x);      // x²
Tensor sqrt(const Tensor& x);        // √x
Tensor rsqrt(const Tensor& x);       // 1 / √x
Tensor reciprocal(const Tensor& x);  // 1 / x
/// x^exponent; dx = exponent · x^(exponent − 1) · dy.
Tensor pow(const Tensor& x, double exponent);

Tensor abs(const Tensor& x);    // derivative 0 at 0
Tensor floor(const Tensor& x);  // derivative 0
Tensor round(const Tensor& x);  // half to even; derivative 0
Tensor sign(const Tensor& x);   // −1, 0, 1; derivative 0
/// x cut to [low, high]; derivative 1 there, ends included. ValueError unless low ≤ high.
Tensor clamp(const Tensor& x, double low, double high);

}  // namespace gradus
