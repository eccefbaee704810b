// Inputs become f64 leaves, a function's result becomes gradients.
#include "gradus/check/subject.h"

#include <utility>

#include "gradus/base/random.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/members.h"

namespace gradus::check {

std::vector<double> numbers(const Tensor& x) {
  return kernel::convert(x, Dtype::f64).to_vector<double>();
}
std::vector<std::int64_t> sizes_of(const Tensor& x) { return {x.shape().begin(), x.shape().end()}; }

std::int64_t count_of_all(const Tensors& x) {
  std::int64_t count = 0;
  for (const Tensor& each : x) count += each.numel();
  return count;
}

Subject::Subject(std::string called, Function f, const Tensors& given, const Options& o)
    : name(std::move(called)), options(o), f_(std::move(f)) {
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

void Subject::complete(const Tensors& given) {
  const auto fits = [&](std::size_t count) { return count == 0 || count == given.size(); };
  require(fits(options.names.size()), name, ": ", options.names.size(), " names for ", given.size(),
          " inputs");
  require(fits(options.differentiable.size()), name, ": `differentiable` has ",
          options.differentiable.size(), " entries for ", given.size(), " inputs");
  const bool none_named = options.names.empty(), none_flagged = options.differentiable.empty();
  bool any = false, rough = false;
  for (std::size_t k = 0; k < given.size(); ++k) {
    const Tensor& x = given[k];
    require(x.defined(), name, ": input ", k, " is undefined");
    if (none_flagged) options.differentiable.push_back(is_float(x.dtype()));
    if (none_named) options.names.push_back(text("x", k));
    require<DtypeError>(!options.differentiable[k] || is_float(x.dtype()), name, ": input ",
                        options.names[k], " is ", x.dtype(), " and cannot be differentiable");
    any = any || options.differentiable[k];
    rough = rough || x.dtype() == Dtype::f32;
    inputs.push_back(is_float(x.dtype()) ? kernel::copy(kernel::convert(x, Dtype::f64))
                                         : kernel::copy(x.detach()));
  }
  require(any, name, ": none of the ", given.size(), " inputs is differentiable, so there is ",
          "nothing to check: give an f32 or f64 input");
  for (const Kink& kink : options.kinks)
    require(kink.input < given.size() && options.differentiable[kink.input], name,
            ": a kink is declared for input ", kink.input, ", which is not differentiable");
  f32 = options.dtype ? *options.dtype == Dtype::f32 : rough;
}

/// Without what belongs to these very inputs.
Options Subject::options_elsewhere() const {
  Options o = options;
  o.dtype = f32 ? Dtype::f32 : Dtype::f64;
  o.upstream = {};
  o.refused = {};
  return o;
}

Tensor Subject::call(const Tensors& in) const {
  Generator same_each_time(options.seed);
  const GeneratorScope frozen(same_each_time);
  return f_(in);
}

Tensors Subject::leaves(const Tensors& x, const Flags& wanted) {
  Tensors in;
  for (std::size_t k = 0; k < x.size(); ++k) {
    in.push_back(x[k].detach());
    if (wanted[k]) in[k].requires_grad_();
  }
  return in;
}

Tensors Subject::gradients(const Tensor& y, const Tensors& in, const Tensor& dy) const {
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

Answer Subject::answer(const Tensors& x, const Tensor& dy, const Flags& wanted) const {
  const GradMode recorded(true);
  const Tensors in = leaves(x, wanted);
  const Tensor y = call(in);
  Tensor before = kernel::copy(y);  // as forward gave it: backward may write to y
  return {std::move(before), gradients(y, in, dy)};
}

}  // namespace gradus::check
