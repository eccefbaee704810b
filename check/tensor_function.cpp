// Inputs become f64 leaves, a function's result becomes gradients.
#include "gradus/check/tensor_function.h"

#include <utility>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/node.h"
#include "gradus/engine/strided.h"

namespace gradus::check {

Values numbers(const Tensor& x) { return kernel::convert(x, Dtype::f64).to_vector<double>(); }
Dims sizes_of(const Tensor& x) { return {x.shape().begin(), x.shape().end()}; }

TensorFunction::TensorFunction(std::string called, Function f, const Tensors& given, Options o)
    : name(std::move(called)), options(std::move(o)), f_(std::move(f)) {
  require(f_ != nullptr, name, ": the function to check is empty");
  complete(given);
  const GradMode recorded(true);
  Tensors copies;
  for (const Tensor& x : inputs) copies.push_back(kernel::copy(x));
  output = call(leaves(copies));
  require(output.defined(), name, ": the function returns an undefined tensor");
  require<DtypeError>(output.dtype() == Dtype::f64, name, ": the function returns ", output.dtype(),
                      " ", output.shape(),
                      " although its inputs are f64: nothing inside may convert them");
  const Tensor& dy = options.upstream;
  require<ShapeError>(!dy.defined() || dy.shape() == output.shape(), name,
                      ": the upstream gradient is ", dy.shape(), " but the function returns ",
                      output.shape(), ": it needs one number for each");
}

void TensorFunction::complete(const Tensors& given) {
  Flags& wanted = options.differentiable;
  if (wanted.empty())
    for (const Tensor& x : given) wanted.push_back(x.defined() && is_float(x.dtype()));
  for (std::size_t k = 0; options.names.size() == k && k < given.size(); ++k)
    options.names.push_back(str_cat("x", k));
  require(options.names.size() == given.size(), name, ": ", options.names.size(), " names for ",
          given.size(), " inputs");
  require(wanted.size() == given.size(), name, ": `differentiable` has ", wanted.size(),
          " entries for ", given.size(), " inputs");
  bool any = false, rough = false;
  for (std::size_t k = 0; k < given.size(); ++k) {
    const Tensor& x = given[k];
    require(x.defined(), name, ": input ", k, " is undefined");
    require<DtypeError>(!wanted[k] || is_float(x.dtype()), name, ": input ", options.names[k],
                        " is ", x.dtype(), " and cannot be differentiable");
    any = any || wanted[k];
    rough = rough || x.dtype() == Dtype::f32;
    inputs.push_back(
        kernel::copy(is_float(x.dtype()) ? kernel::convert(x, Dtype::f64) : x.detach()));
  }
  require(any, name, ": none of the ", given.size(), " inputs is differentiable, so there is ",
          "nothing to check: give an f32 or f64 input");
  for (const Kink& kink : options.kinks)
    require(kink.input < given.size() && wanted[kink.input], name,
            ": a kink is declared for input ", kink.input, ", which is not differentiable");
  f32 = options.dtype ? *options.dtype == Dtype::f32 : rough;
}

TensorFunction TensorFunction::at(const Tensors& other) const {
  Options o = options;
  o.dtype = f32 ? Dtype::f32 : Dtype::f64;
  o.upstream = {};
  o.refused = {};
  return {name, f_, other, std::move(o)};
}

Tensor TensorFunction::call(const Tensors& in) const {
  Generator same_each_time(options.seed);
  const GeneratorScope frozen(same_each_time);
  return f_(in);
}

Tensors TensorFunction::leaves(const Tensors& x, const Flags& wanted) {
  Tensors in;
  for (std::size_t k = 0; k < x.size(); ++k) {
    in.push_back(x[k].detach());
    if (wanted[k]) in[k].requires_grad_();
  }
  return in;
}

Tensors TensorFunction::gradients(const Tensor& y, const Tensors& in, const Tensor& dy) const {
  Tensors dx(in.size()), leaves;
  for (const Tensor& x : in)
    if (x.requires_grad()) leaves.push_back(x);
  Tensors found(leaves.size());
  if (y.requires_grad())
    found = grad({y}, leaves, {dy},
                 {.create_graph = options.formula, .keep_graph = true, .allow_unused = true});
  for (std::size_t k = 0, next = 0; k < in.size(); ++k) {
    if (!in[k].requires_grad()) continue;
    dx[k] = found[next++].detach();
    if (!dx[k].defined()) dx[k] = Tensor::empty_like(in[k]).fill_(0);
  }
  return dx;
}

Result TensorFunction::run(const Tensors& x, const Tensor& dy, const Flags& wanted) const {
  const GradMode recorded(true);
  const Tensors in = leaves(x, wanted);
  const Tensor y = call(in);
  Tensor before = kernel::copy(y);  // as forward gave it: backward may write to y
  return {std::move(before), gradients(y, in, dy)};
}

}  // namespace gradus::check
