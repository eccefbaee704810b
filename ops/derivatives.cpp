#include "gradus/ops/derivatives.h"

#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/create.h"

namespace gradus {
namespace {

/// Returns the inputs. Replaces each one that requires no gradient by a leaf that requires one.
std::vector<Tensor> wanting(const char* who, const std::vector<Tensor>& inputs) {
  require<ValueError>(!inputs.empty(), who, ": no inputs to differentiate. Pass at least one.");
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    require<ValueError>(x.defined(), who, ": input ", i, " is undefined. Assign a value.");
    require<DtypeError>(is_float(x.dtype()), who, ": input ", i, " is ", x.dtype(),
                        ", but only f32 and f64 have derivatives. Capture others in the function.");
    out.push_back(x.requires_grad() ? x : x.detach().requires_grad_());
  }
  return out;
}

Tensor value_of(const char* who, const TensorFunction& f, const std::vector<Tensor>& x) {
  Tensor y = f(x);
  require<ValueError>(y.defined(), who,
                      ": the function returned an undefined tensor. Return its result.");
  return y;
}

/// Checks that v[i] has the shape and dtype of of[i]. In messages, `what` names the tensors in v,
/// and `kind` ("input" or "output") those in `of`.
void require_like(const char* who, const char* what, const std::vector<Tensor>& v, const char* kind,
                  const std::vector<Tensor>& of) {
  require<ValueError>(v.size() == of.size(), who, ": ", v.size(), " ", what, "s for ", of.size(),
                      " ", kind, "s. Pass one for each.");
  for (std::size_t i = 0; i < v.size(); ++i) {
    require<ShapeError>(v[i].defined() && v[i].shape() == of[i].shape(), who, ": ", what, " ", i,
                        " is ", v[i].defined() ? to_string(v[i].shape()) : "undefined", " but ",
                        kind, " ", i, " is ", of[i].shape(), ". Their shapes must be equal.");
    require<DtypeError>(v[i].dtype() == of[i].dtype(), who, ": ", what, " ", i, " is ",
                        v[i].dtype(), " but ", kind, " ", i, " is ", of[i].dtype(),
                        ". Convert one with to(x, dtype).");
  }
}

/// Like grad(), but returns zeros for unused inputs.
std::vector<Tensor> grad_or_zeros(const std::vector<Tensor>& outputs,
                                  const std::vector<Tensor>& inputs,
                                  const std::vector<Tensor>& upstream, bool create_graph) {
  std::vector<Tensor> y, dy;
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k].requires_grad()) {
      y.push_back(outputs[k]);
      dy.push_back(upstream.empty() ? Tensor() : upstream[k]);
    }
  std::vector<Tensor> dx(inputs.size());
  if (!y.empty())
    dx = grad(y, inputs, dy,
              {.create_graph = create_graph, .keep_graph = true, .allow_unused = true});
  for (std::size_t i = 0; i < dx.size(); ++i)
    if (!dx[i].defined()) dx[i] = zeros_like(inputs[i]);
  return dx;
}

Tensor handed_out(const Tensor& x, DerivativeOptions options) {
  return options.create_graph ? x : x.detach();
}

}  // namespace

ValueAndGradients vjp(const TensorFunction& f, const std::vector<Tensor>& inputs, const Tensor& dy,
                      DerivativeOptions options) {
  const GradMode recorded(true);
  const std::vector<Tensor> x = wanting("vjp", inputs);
  const Tensor y = value_of("vjp", f, x);
  if (dy.defined()) require_like("vjp", "upstream gradient", {dy}, "output", {y});
  require<ShapeError>(dy.defined() || y.numel() == 1, "vjp: the function returned ", y.shape(),
                      ", not one element. Pass an upstream gradient of that shape.");
  return {handed_out(y, options), grad_or_zeros({y}, x, {dy}, options.create_graph)};
}

ValueAndTangent jvp(const TensorFunction& f, const std::vector<Tensor>& inputs,
                    const std::vector<Tensor>& tangents, DerivativeOptions options) {
  const GradMode recorded(true);
  const std::vector<Tensor> x = wanting("jvp", inputs);
  require_like("jvp", "tangent", tangents, "input", x);
  const Tensor y = value_of("jvp", f, x);
  const Tensor u = zeros_like(y).requires_grad_();  // arbitrary value: uᵀJ is linear in u
  const std::vector<Tensor> uJ = grad_or_zeros({y}, x, {u}, true);
  const Tensor tangent = grad_or_zeros(uJ, {u}, tangents, options.create_graph)[0];
  return {handed_out(y, options), tangent};
}

std::vector<Tensor> hessian_vector_product(const Tensor& loss, const std::vector<Tensor>& inputs,
                                           const std::vector<Tensor>& v,
                                           DerivativeOptions options) {
  constexpr const char* kName = "hessian_vector_product";
  require<ValueError>(loss.defined(), kName,
                      ": the loss is undefined. Pass the result of a computation.");
  require<ShapeError>(loss.numel() == 1, kName, ": the loss is ", loss.shape(),
                      ", not one element. Take its sum() or mean().");
  require_like(kName, "vector", v, "input", inputs);
  const std::vector<Tensor> gradient = grad_or_zeros({loss}, inputs, {}, true);
  return grad_or_zeros(gradient, inputs, v, options.create_graph);
}

ValueAndProduct hessian_vector_product(const TensorFunction& f, const std::vector<Tensor>& inputs,
                                       const std::vector<Tensor>& v, DerivativeOptions options) {
  const GradMode recorded(true);
  const std::vector<Tensor> x = wanting("hessian_vector_product", inputs);
  const Tensor y = value_of("hessian_vector_product", f, x);
  return {handed_out(y, options), hessian_vector_product(y, x, v, options)};
}

}  // namespace gradus
