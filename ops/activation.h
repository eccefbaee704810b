// Activations, element by element: results have the shape and dtype (f32, f64) of x, but for glu.
// DtypeError. Formulas with their derivatives stand in activation.cpp.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

enum class Gelu { tanh, erf };  // the approximation of GPT-2, and x·Φ(x) itself

Tensor relu(const Tensor& x);                             // max(x, 0); derivative 0 at 0
Tensor leaky_relu(const Tensor& x, double slope = 0.01);  // x > 0 ? x : slope · x
Tensor elu(const Tensor& x, double alpha = 1.0);          // x > 0 ? x : alpha (exp x − 1)
Tensor softplus(const Tensor& x);                         // log(1 + exp x)
Tensor silu(const Tensor& x);                             // x · sigmoid(x)
Tensor gelu(const Tensor& x, Gelu form = Gelu::erf);      // Hendrycks & Gimpel 2016
/// The halves a, b of x along `axis` (of even size): a · sigmoid(b). Dauphin et al. 2017.
Tensor glu(const Tensor& x, int axis = -1);
/// silu(gate) · x, the gate of SwiGLU; equal shapes. Shazeer 2020.
Tensor swiglu(const Tensor& gate, const Tensor& x);

}  // namespace gradus
