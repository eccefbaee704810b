// vᵀJ, J·v and H·v, based on grad(), as in torch.autograd.functional.
#pragma once

#include <functional>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus {

/// A function to differentiate. Takes any number of tensors and returns one.
using TensorFunction = std::function<Tensor(const std::vector<Tensor>&)>;

/// Options of vjp(), jvp() and hessian_vector_product().
struct DerivativeOptions {
  bool create_graph = false;  // results can be differentiated again
};

/// The result of vjp(): f(inputs), and one gradient per input.
struct ValueAndGradients {
  Tensor value;
  std::vector<Tensor> gradients;
};
/// Returns f(inputs) and dyᵀ J, one gradient per input (zeros for an unused input). dy must have
/// the shape of f's result. An undefined dy is 1, and f must then return one element.
///
/// The inputs of all functions below must be floating-point. The inputs and their grad() are not
/// changed.
ValueAndGradients vjp(const TensorFunction& f, const std::vector<Tensor>& inputs,
                      const Tensor& dy = {}, DerivativeOptions options = {});

/// The result of jvp(): f(inputs) and J v, of the same shape.
struct ValueAndTangent {
  Tensor value, tangent;  // f(inputs), J v
};
/// Returns f(inputs) and J v = Σ_i ∂f/∂inputs[i] · v[i], with one tangent per input, of equal shape
/// and dtype. Applies reverse mode twice (Townsend 2017, "A new trick for calculating Jacobian
/// vector products").
ValueAndTangent jvp(const TensorFunction& f, const std::vector<Tensor>& inputs,
                    const std::vector<Tensor>& tangents, DerivativeOptions options = {});

/// The result of hessian_vector_product(): f(inputs), and H v as one tensor per input.
struct ValueAndProduct {
  Tensor value;
  std::vector<Tensor> product;  // H v
};
/// Returns f(inputs) (one element) and H v for the Hessian H, one tensor per input. Does not form H
/// (Pearlmutter 1994).
ValueAndProduct hessian_vector_product(const TensorFunction& f, const std::vector<Tensor>& inputs,
                                       const std::vector<Tensor>& v,
                                       DerivativeOptions options = {});

/// Returns H v of a computed loss with respect to any tensors that it depends on, such as
/// parameters. Keeps the graph.
std::vector<Tensor> hessian_vector_product(const Tensor& loss, const std::vector<Tensor>& inputs,
                                           const std::vector<Tensor>& v,
                                           DerivativeOptions options = {});

}  // namespace gradus
