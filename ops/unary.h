// Element-wise functions of f32 or f64 tensors; abs and clamp also support i64. The result has the
// shape and dtype of x. Throw ValueError for an undefined tensor, DtypeError for other dtypes.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

Tensor exp(const Tensor& x);      // eˣ
Tensor expm1(const Tensor& x);    // exp x − 1, accurate near 0
Tensor log(const Tensor& x);      // natural logarithm; −∞ at 0, NaN below 0
Tensor log1p(const Tensor& x);    // log(1 + x), accurate near 0
Tensor sin(const Tensor& x);      // x in radians
Tensor cos(const Tensor& x);      // x in radians
Tensor tanh(const Tensor& x);     // (exp 2x − 1) / (exp 2x + 1)
Tensor sigmoid(const Tensor& x);  // 1 / (1 + exp −x)
Tensor erf(const Tensor& x);      // 2/√π ∫₀ˣ exp(−t²) dt

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
/// Clamps x to [low, high]. The derivative is 1 in that range, ends included. Throws ValueError
/// unless low ≤ high.
Tensor clamp(const Tensor& x, double low, double high);

}  // namespace gradus
