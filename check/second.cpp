// Checks second derivatives as first derivatives of a function that computes gradients.
#include <algorithm>
#include <iterator>
#include <utility>

#include "gradus/check/condition.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/reduce.h"

namespace gradus::check {
namespace {

const Cause kDetached = {
    "DETACHED", "the gradient has no graph, so a second backward pass takes it for a constant",
    "compute it with ops of tensors that are not detached"};

/// The function g(x, w) = unit + Σ_k ⟨u_k, ∂⟨w, f(x)⟩/∂x_k⟩. w is the last input.
class GradientOf {
 public:
  GradientOf(const CheckedTensorFunction& f, Tensors u, double unit)
      : f_(f), u_(std::move(u)), unit_(unit) {}

  Tensor operator()(const Tensors& in) const {
    Tensors x, wanted;
    for (std::size_t k = 0; k < f_.wanted().size(); ++k) {
      x.push_back(f_.wanted()[k] ? apart(in, k) : in[k]);
      if (f_.wanted()[k]) wanted.push_back(x[k]);
    }
    Tensors dx(wanted.size());
    {
      const GradMode on(true);
      const Tensor y = f_.call(x);
      if (y.requires_grad())
        dx = grad({y}, wanted, {in.back()}, {.create_graph = true, .allow_unused = true});
    }
    Tensor total = full({}, unit_, Dtype::f64);
    for (std::size_t n = 0; n < dx.size(); ++n)
      if (dx[n].defined()) total = total + sum(u_[n] * dx[n]);
    return total;
  }

 private:
  /// While recording, returns a separate node for each use of the same tensor. Otherwise, returns a
  /// leaf.
  static Tensor apart(const Tensors& in, std::size_t k) {
    if (!in[k].requires_grad()) return in[k].detach().requires_grad_();
    const auto same = [&](const Tensor& x) { return x.node() == in[k].node(); };
    return std::count_if(in.begin(), in.end(), same) > 1 ? in[k] * 1.0 : in[k];
  }

  const CheckedTensorFunction& f_;
  Tensors u_;
  double unit_;
};

/// True if the gradients have no graph, so that they are constants for a second backward pass.
bool is_detached(const CheckedTensorFunction& f) {
  const GradMode on(true);
  const Tensors in = f.leaves(f.inputs);
  Tensors wanted;
  std::copy_if(in.begin(), in.end(), std::back_inserter(wanted),
               [](const Tensor& x) { return x.requires_grad(); });
  const Tensor y = f.call(in);
  if (!y.requires_grad()) return false;
  const Tensor dy = other_numbers(y.detach()).requires_grad_();
  const Tensors dx = grad({y}, wanted, {dy}, {.create_graph = true, .allow_unused = true});
  return std::none_of(dx.begin(), dx.end(),
                      [](const Tensor& g) { return g.defined() && g.requires_grad(); });
}

/// Returns about |u| |w| |y| / |x|, the magnitude of a gradient's terms.
double size_of_all_terms(const CheckedTensorFunction& function) {
  const double most = largest_of(numbers(function.output));
  double size = 0;
  for (std::size_t k = 0; k < function.inputs.size(); ++k)
    if (function.wanted()[k]) size = std::max(size, rms(numbers(function.inputs[k])));
  return size > 0 ? 4 * most / size : most;
}

}  // namespace

Report second(std::string_view name, const Function& f, const Tensors& inputs, const Options& given,
              SourceLine place) {
  Options options = given;
  options.upstream = {};
  options.refused = {};
  options.dtype = Dtype::f64;  // gradients() covers f32
  const CheckedTensorFunction function(std::string(name), f, inputs, options);
  Tensors u;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (function.wanted()[k]) u.push_back(other_numbers(function.inputs[k], options.seed + 7 + k));
  // If the terms cancel (softmax across equal rows), g is only rounding error. A constant as large
  // as the terms, with the sign of g, raises the rounding estimate accordingly.
  Tensors in = function.inputs;
  in.push_back(other_numbers(function.output, options.seed + 6));
  const double size = size_of_all_terms(function);
  const bool negative = GradientOf(function, u, 0)(in).item() < 0;
  const GradientOf g(function, std::move(u), negative ? -size : size);
  options.names = function.options.names;
  options.names.emplace_back("upstream");
  options.differentiable = function.wanted();
  options.differentiable.push_back(true);
  options.smallest = false;  // u has the sizes of the full inputs
  Report report =
      run(CheckedTensorFunction(std::string(name) + ", second derivatives", g, in, options),
          "second", std::move(place));
  if (report.verdict == Verdict::fail && is_detached(function))
    for (InputSummary& input : report.inputs)
      if (input.wrong > 0) input.cause = kDetached;
  return report;
}

}  // namespace gradus::check
