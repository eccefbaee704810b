// Derivatives as functions: vᵀJ, J·v and H·v, made of grad(), in the manner of
// torch.autograd.functional. Each can be differentiated again.
#pragma once

#include <functional>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus {

using TensorFunction = std::function<Tensor(const std::vector<Tensor>&)>;

struct DerivativeOptions {
  bool create_graph = false;  // the results can be differentiated again
};

/// What f gives at `inputs`, and dy ᵀ J: one gradient an input, zeros where f does not depend on
/// it. dy has the shape of f's result; undefined, it stands for 1 and f must give one number.
///
/// For this and those below: inputs are floating-point; one that wants no gradient is taken as if
/// it did. `inputs` themselves, their grad() and what f gives are otherwise left alone.
struct ValueAndGradients {
  Tensor value;
  std::vector<Tensor> gradients;
};
ValueAndGradients vjp(const TensorFunction& f, const std::vector<Tensor>& inputs,
                      const Tensor& dy = {}, DerivativeOptions options = {});

/// What f gives at `inputs`, and J v = Σ_i ∂f/∂inputs[i] · v[i]: how f changes when the inputs move
/// along v (one tangent an input, of its shape and dtype). Reverse mode twice: u ↦ uᵀJ is linear,
/// and its own vᵀ(·) is J v (Townsend 2017, "A new trick for calculating Jacobian vector
/// products").
struct ValueAndTangent {
  Tensor value, tangent;
};
ValueAndTangent jvp(const TensorFunction& f, const std::vector<Tensor>& inputs,
                    const std::vector<Tensor>& tangents, DerivativeOptions options = {});

/// What f gives (one number), and H v, where H holds its second derivatives: one tensor an input,
/// zeros where the gradient does not change. No matrix is made (Pearlmutter 1994).
struct ValueAndProduct {
  Tensor value;
  std::vector<Tensor> product;
};
ValueAndProduct hessian_vector_product(const TensorFunction& f, const std::vector<Tensor>& inputs,
                                       const std::vector<Tensor>& v,
                                       DerivativeOptions options = {});

/// The same for a loss that was computed already, by leaves or other tensors that it came from
/// (a model's parameters). The loss keeps its graph.
std::vector<Tensor> hessian_vector_product(const Tensor& loss, const std::vector<Tensor>& inputs,
                                           const std::vector<Tensor>& v,
                                           DerivativeOptions options = {});

}  // namespace gradus
