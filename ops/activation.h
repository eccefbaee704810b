// Element-wise activations of f32 and f64 tensors. The result has the shape of x, except for glu.
// Throw DtypeError for other dtypes. Formulas and derivatives: activation.cpp.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

enum class Gelu { tanh, erf };  // tanh: GPT-2's approximation; erf: exact x·Φ(x)

Tensor relu(const Tensor& x);                             // max(x, 0); derivative 0 at 0
Tensor leaky_relu(const Tensor& x, double slope = 0.01);  // x > 0 ? x : slope · x
Tensor elu(const Tensor& x, double alpha = 1.0);          // x > 0 ? x : alpha (exp x − 1)
Tensor softplus(const Tensor& x);                         // log(1 + exp x)
Tensor silu(const Tensor& x);                             // x · sigmoid(x)
Tensor gelu(const Tensor& x, Gelu form = Gelu::erf);      // Hendrycks & Gimpel 2016
/// a · sigmoid(b), where a and b are the halves of x along `axis` (of even size). Dauphin et al.
/// 2017.
Tensor glu(const Tensor& x, int axis = -1);
/// silu(gate) · x, as in SwiGLU. Shapes must be equal. Shazeer 2020.
Tensor swiglu(const Tensor& gate, const Tensor& x);

}  // namespace gradus
