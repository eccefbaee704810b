#include "gradus/check/tensor_function.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "gradus/check/raw/vjp_check.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"

namespace gradus::check {
namespace {

class NumberFunction {
 public:
  explicit NumberFunction(const CheckedTensorFunction& f) : f_(f) {}

  Values forward(const Arguments& values) {
    const NoGrad off;
    const Tensors in = tensors(values);
    const Versions versions = versions_of(in);
    Values y = f_.call(in).to_vector<double>();
    require_unwritten(in, versions, ++forwards_ <= 2 ? &values : nullptr,
                      "forward writes to its input '",
                      "', which its caller does not expect. Write to a clone().");
    return y;
  }

  Arguments vjp(const Arguments& values, const Values& dy) {
    if (!y_.defined() || values_ != values) {  // f runs only if the inputs changed
      const GradMode on(true);
      values_ = values;
      in_ = f_.leaves(tensors(values));
      versions_ = versions_of(in_);
      y_ = f_.call(in_);
    }
    const Tensor upstream = tensor(dy, y_.shape());
    const std::uint32_t version = upstream.storage()->version();
    Arguments dx;
    for (const Tensor& d : f_.gradients(y_, in_, upstream))
      dx.push_back(d.defined() ? numbers(d) : Values());
    if (upstream.storage()->version() != version || !close(numbers(upstream), dy, 0))
      throw Damage(
          "backward writes to its upstream gradient, which other nodes may still need. Write to a "
          "clone(), or use reuse_or_empty(dy).");
    require_unwritten(in_, versions_, &values_, "backward writes to the input '",
                      "', which it must not change. Write to a clone().");
    return dx;
  }

 private:
  using Versions = std::vector<std::uint32_t>;

  Tensors tensors(const Arguments& values) const {
    Tensors in = f_.inputs;
    for (std::size_t k = 0; k < in.size(); ++k)
      if (f_.wanted()[k]) in[k] = tensor(values[k], in[k].shape());
    return in;
  }

  static Versions versions_of(const Tensors& in) {
    Versions out;
    for (const Tensor& x : in) out.push_back(x.storage()->version());
    return out;
  }

  /// Checks version counters. Comparing `values` also detects writes that bypass the counters.
  void require_unwritten(const Tensors& in, const Versions& versions, const Arguments* values,
                         const char* before, const char* after) const {
    for (std::size_t k = 0; k < in.size(); ++k)
      if (in[k].storage()->version() != versions[k] ||
          (values != nullptr && !close(numbers(in[k]), (*values)[k], 0)))
        throw Damage(before + f_.options.names[k] + after);
  }

  const CheckedTensorFunction& f_;
  std::int64_t forwards_ = 0;
  Arguments values_;
  Tensors in_;
  Versions versions_;
  Tensor y_;
};

}  // namespace

Values numbers(const Tensor& x) { return kernel::convert(x, Dtype::f64).to_vector<double>(); }
Dims sizes_of(const Tensor& x) { return {x.shape().begin(), x.shape().end()}; }

CheckedTensorFunction::CheckedTensorFunction(std::string called, Function f, const Tensors& given,
                                             Options o)
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
                      " although its inputs are f64. It must not convert them.");
  const Tensor& dy = options.upstream;
  require<ShapeError>(!dy.defined() || dy.shape() == output.shape(), name,
                      ": the upstream gradient must have the shape of the result, ", output.shape(),
                      ", got ", dy.shape());
}

void CheckedTensorFunction::complete(const Tensors& given) {
  Flags& wanted = options.differentiable;
  if (wanted.empty())
    for (const Tensor& x : given) wanted.push_back(x.defined() && is_float(x.dtype()));
  for (std::size_t k = 0; options.names.size() == k && k < given.size(); ++k)
    options.names.push_back(str_cat("x", k));
  require(options.names.size() == given.size(), name, ": `names` has ", options.names.size(),
          " entries for ", given.size(), " inputs");
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
  require(any, name, ": none of the ", given.size(), " inputs is differentiable. Pass an f32 or ",
          "f64 input.");
  for (const Kink& kink : options.kinks) {
    require(kink.input < given.size(), name, ": a kink is declared for input ", kink.input,
            ", but there are ", given.size(), " inputs");
    require(wanted[kink.input], name, ": a kink is declared for input ", kink.input,
            ", which is not differentiable. Mark the input as differentiable, or remove the kink.");
  }
  f32 = options.dtype ? *options.dtype == Dtype::f32 : rough;
}

CheckedTensorFunction CheckedTensorFunction::at(const Tensors& other) const {
  Options o = options;
  o.dtype = f32 ? Dtype::f32 : Dtype::f64;
  o.upstream = {};
  o.refused = {};
  return {name, f_, other, std::move(o)};
}

Tensor CheckedTensorFunction::call(const Tensors& in) const {
  Generator same_each_time(options.seed);
  const GeneratorScope frozen(same_each_time);
  return f_(in);
}

Tensors CheckedTensorFunction::leaves(const Tensors& x, const Flags& wanted) {
  Tensors in;
  for (std::size_t k = 0; k < x.size(); ++k) {
    in.push_back(x[k].detach());
    if (wanted[k]) in[k].requires_grad_();
  }
  return in;
}

Tensors CheckedTensorFunction::gradients(const Tensor& y, const Tensors& in,
                                         const Tensor& dy) const {
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

Outcome CheckedTensorFunction::run(const Tensors& x, const Tensor& dy, const Flags& wanted) const {
  const GradMode recorded(true);
  const Tensors in = leaves(x, wanted);
  const Tensor y = call(in);
  Tensor before = kernel::copy(y);  // backward may write to y
  return {std::move(before), gradients(y, in, dy)};
}

Report compare_numbers(const std::string& name, Functions functions, std::vector<Input> inputs,
                       RawOptions options) {
  return check_vjp(name, std::move(functions), std::move(inputs), std::move(options));
}

Report CheckedTensorFunction::compare(RowSum& rows) const {
  NumberFunction of_numbers(*this);
  const Functions functions{
      [&](const Arguments& in) { return of_numbers.forward(in); },
      [&](const Arguments& in, const Values& dy) { return of_numbers.vjp(in, dy); }};
  std::vector<Input> raw;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    raw.push_back({options.names[k], sizes_of(inputs[k]), numbers(inputs[k]), wanted()[k]});
    rows.magnitude.emplace_back(raw[k].values.size(), 0.0);
  }
  VjpCheck check(name, functions, raw,
                 {.mode = options.mode,
                  .seed = options.seed,
                  .rtol = options.rtol,
                  .atol = options.atol,
                  .output_shape = sizes_of(output),
                  .upstream = options.upstream.defined() ? numbers(options.upstream) : Values(),
                  .kinks = options.kinks,
                  .seconds = options.seconds});
  Report report = check.run();
  rows.dy.assign(static_cast<std::size_t>(output.numel()), 0.0);
  for (const Probe& probe : check.probes()) {
    if (probe.dense() || probe.answer.empty()) continue;
    rows.dy[*probe.row] = probe.weight[0];
    for (std::size_t k = 0; k < raw.size(); ++k)
      for (std::size_t j = 0; j < probe.answer[k].size(); ++j)
        rows.magnitude[k][j] += std::abs(probe.answer[k][j]);
  }
  return report;
}

}  // namespace gradus::check
