// From tensors to the numbers that check/raw compares, and back. A second derivative is checked as
// the first one of a function that takes gradients.
#include "gradus/check/gradients.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gradus/base/random.h"
#include "gradus/check/raw/vjp_check.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/graph.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/reduce.h"

namespace gradus::check {
namespace {

using Tensors = std::vector<Tensor>;

std::vector<std::int64_t> sizes_of(const Tensor& x) { return {x.shape().begin(), x.shape().end()}; }

/// A function of tensors as check/raw wants it: one of numbers, and a vector-Jacobian product.
class Adapter {
 public:
  Adapter(std::string name, const Function& f, const Tensors& inputs, const Options& options);

  /// Runs f once, so that what it throws, or returns by mistake, is seen as it is.
  Tensor try_out() const;
  Report run();
  Report run_second();

 private:
  Tensor call(const Tensors& in) const;
  Tensors leaves(const core::Arguments& values) const;
  core::Arguments vjp(const core::Arguments& values, const core::Values& dy) const;
  std::vector<core::Input> raw_inputs() const;
  double size_of_terms(const Tensor& y) const;

  std::string name_;
  Function f_;
  Tensors inputs_;  // f64 where floating-point
  Options options_;

  /// The graph of the last inputs that a gradient was asked at: the check asks often at the same.
  struct {
    core::Arguments values;
    Tensors in;
    Tensor y;
  } mutable recorded_;
};

Adapter::Adapter(std::string name, const Function& f, const Tensors& inputs, const Options& options)
    : name_(std::move(name)), f_(f), options_(options) {
  require(f != nullptr, name_, ": the function to check is empty");
  const auto fits = [&](std::size_t given) { return given == 0 || given == inputs.size(); };
  require(fits(options.names.size()), name_, ": ", options.names.size(), " names for ",
          inputs.size(), " inputs");
  require(fits(options.differentiable.size()), name_, ": `differentiable` has ",
          options.differentiable.size(), " entries for ", inputs.size(), " inputs");
  bool any = false;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Tensor& x = inputs[k];
    require(x.defined(), name_, ": input ", k, " is undefined");
    if (options.differentiable.empty()) options_.differentiable.push_back(is_float(x.dtype()));
    if (options.names.empty()) options_.names.push_back(text("x", k));
    require<DtypeError>(!options_.differentiable[k] || is_float(x.dtype()), name_, ": input ",
                        options_.names[k], " is ", x.dtype(), " and cannot be differentiable");
    any = any || options_.differentiable[k];
    inputs_.push_back(is_float(x.dtype()) ? x.astype(Dtype::f64).clone() : x.detach());
  }
  require(any, name_, ": none of the ", inputs.size(), " inputs is differentiable, so there is ",
          "nothing to check: give an f32 or f64 input");
}

Tensor Adapter::call(const Tensors& in) const {
  Generator same_each_time(options_.seed);
  const GeneratorScope frozen(same_each_time);
  const GradMode recorded(true);
  return f_(in);
}

/// Fresh tensors of these numbers; the differentiable ones are leaves.
Tensors Adapter::leaves(const core::Arguments& values) const {
  Tensors in = inputs_;
  for (std::size_t k = 0; k < in.size(); ++k)
    if (options_.differentiable[k]) in[k] = from(values[k], in[k].shape()).requires_grad_();
  return in;
}

Tensor Adapter::try_out() const {
  Tensors in;
  for (std::size_t k = 0; k < inputs_.size(); ++k)
    in.push_back(options_.differentiable[k] ? inputs_[k].clone().requires_grad_() : inputs_[k]);
  Tensor y = call(in);
  require(y.defined(), name_, ": the function returns an undefined tensor");
  require<DtypeError>(y.dtype() == Dtype::f64, name_, ": the function returns ", y.dtype(), " ",
                      y.shape(), " although its inputs are f64: nothing inside may convert them");
  return y;
}

core::Arguments Adapter::vjp(const core::Arguments& values, const core::Values& dy) const {
  if (!recorded_.y.defined() || recorded_.values != values) {
    recorded_.values = values;
    recorded_.in = leaves(values);
    recorded_.y = call(recorded_.in);
  }
  const Tensors& in = recorded_.in;
  const Tensor& y = recorded_.y;
  core::Arguments dx(in.size());
  Tensors wanted;
  for (std::size_t k = 0; k < in.size(); ++k) {
    dx[k].assign(values[k].size(), 0.0);  // for what f does not depend on
    if (options_.differentiable[k]) wanted.push_back(in[k]);
  }
  if (!y.requires_grad()) return dx;
  const Tensors found =
      grad({y}, wanted, {from(dy, y.shape())},
           {.create_graph = options_.formula, .keep_graph = true, .allow_unused = true});
  for (std::size_t k = 0, next = 0; k < in.size(); ++k) {
    if (!options_.differentiable[k]) continue;
    const Tensor& gradient = found[next++];
    if (gradient.defined()) dx[k] = gradient.to_vector<double>();
  }
  return dx;
}

std::vector<core::Input> Adapter::raw_inputs() const {
  std::vector<core::Input> out;
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    const core::Values numbers = inputs_[k].astype(Dtype::f64).to_vector<double>();
    out.push_back({options_.names[k], sizes_of(inputs_[k]), numbers, options_.differentiable[k]});
  }
  return out;
}

Report Adapter::run() {
  const Tensor y = try_out();
  core::Options settings;
  settings.rtol = options_.rtol;
  settings.atol = options_.atol;
  settings.seed = options_.seed;
  settings.output_shape = sizes_of(y);
  const auto forward = [this](const core::Arguments& in) {
    return call(leaves(in)).to_vector<double>();
  };
  const auto derivative = [this](const core::Arguments& in, const core::Values& dy) {
    return vjp(in, dy);
  };
  Report report = core::check_vjp(name_, {forward, derivative}, raw_inputs(), settings);
  report.reproduce = text("check::gradients(\"", name_, "\", …, {.seed = ", options_.seed, "})");
  if (!report && !y.requires_grad())
    report.notes.push_back(
        "the result has no place in the graph: was it computed under NoGrad, or "
        "from detached or converted tensors?");
  return report;
}

/// About |u| |w| |y| / |x|, the size of what a gradient's terms are before they are added.
double Adapter::size_of_terms(const Tensor& y) const {
  double most = 0, size = 0;
  for (const double v : y.to_vector<double>())
    if (std::isfinite(v)) most = std::max(most, std::abs(v));
  for (std::size_t k = 0; k < inputs_.size(); ++k)
    if (options_.differentiable[k])
      size = std::max(size, core::rms(inputs_[k].to_vector<double>()));
  return size > 0 ? 4 * most / size : most;
}

Report Adapter::run_second() {
  const Tensor y = try_out();
  core::Random random(options_.seed);
  const auto upstream = [&random](const Tensor& like) {
    core::Values numbers(static_cast<std::size_t>(like.numel()));
    for (double& number : numbers) number = random.upstream();
    return from(numbers, like.shape());
  };
  Tensors u;
  for (std::size_t k = 0; k < inputs_.size(); ++k)
    u.push_back(options_.differentiable[k] ? upstream(inputs_[k]) : Tensor());

  // g(x, w) = Σ_k ⟨u_k, ∂⟨w, f(x)⟩/∂x_k⟩; w comes after the x. Where the terms of a gradient
  // cancel (softmax of equal rows, across them) g is rounding alone, and differences would take it
  // for the truth. A constant of the terms' size tells them how large its rounding is.
  const double unit = size_of_terms(y);
  const auto g = [this, u, unit](const Tensors& in) {
    Tensors x = in, wanted;
    const Tensor w = x.back();
    x.pop_back();
    for (std::size_t k = 0; k < x.size(); ++k)
      if (options_.differentiable[k]) wanted.push_back(x[k]);
    Tensor total = full({}, unit, Dtype::f64);
    const Tensor value = call(x);
    if (!value.requires_grad()) return total;
    const Tensors dx = grad({value}, wanted, {w}, {.create_graph = true, .allow_unused = true});
    for (std::size_t k = 0, next = 0; k < x.size(); ++k) {
      if (!options_.differentiable[k]) continue;
      if (const Tensor& d = dx[next++]; d.defined()) total = total + sum(u[k] * d);
    }
    return total;
  };
  Tensors inputs = inputs_;
  inputs.push_back(upstream(y));
  Options options = options_;
  options.names.push_back("upstream");
  options.differentiable.push_back(true);
  return Adapter(name_ + ", second derivatives", g, inputs, options).run();
}

}  // namespace

Report gradients(std::string_view name, const Function& f, const Tensors& inputs,
                 const Options& options) {
  Adapter adapter(std::string(name), f, inputs, options);
  return options.second ? adapter.run_second() : adapter.run();
}

Report gradients(const Function& f, const Tensors& inputs, const Options& options) {
  return gradients("function", f, inputs, options);
}

}  // namespace gradus::check
