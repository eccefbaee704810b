// Numbers in, tensors made of them, a gradient's numbers out; and no writing to what was given.
#include <cmath>
#include <cstdint>

#include "gradus/check/raw/vjp_check.h"
#include "gradus/check/tensor_function.h"
#include "gradus/engine/node.h"
#include "gradus/ops/create.h"

namespace gradus::check {
namespace {

/// The function as check/raw wants it: one of numbers, and a vector-Jacobian product.
class Numbers {
 public:
  explicit Numbers(const TensorFunction& f) : f_(f) {}

  Values forward(const Arguments& values) {
    const NoGrad off;
    const Tensors in = tensors(values);
    const Versions versions = versions_of(in);
    Values y = f_.call(in).to_vector<double>();
    require_unwritten(in, versions, ++forwards_ <= 2 ? &values : nullptr,
                      "forward writes to its input '",
                      "': its caller does not expect that. Write to a clone()");
    return y;
  }

  Arguments vjp(const Arguments& values, const Values& dy) {
    if (!y_.defined() || values_ != values) {  // asked often at the same inputs
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
          "backward writes to its upstream gradient, which others may still need: write to a "
          "clone(), or through reuse_or_empty(dy)");
    require_unwritten(in_, versions_, &values_, "backward writes to the input '",
                      "', which is not its own: write to a clone()");
    return dx;
  }

 private:
  using Versions = std::vector<std::uint32_t>;  // of the inputs' storage

  /// Fresh tensors of these numbers.
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

  /// Writes are counted; `values` show also those that went around the counter.
  void require_unwritten(const Tensors& in, const Versions& versions, const Arguments* values,
                         const char* before, const char* after) const {
    for (std::size_t k = 0; k < in.size(); ++k)
      if (in[k].storage()->version() != versions[k] ||
          (values != nullptr && !close(numbers(in[k]), (*values)[k], 0)))
        throw Damage(before + f_.options.names[k] + after);
  }

  const TensorFunction& f_;
  std::int64_t forwards_ = 0;
  Arguments values_;  // of the last graph
  Tensors in_;
  Versions versions_;
  Tensor y_;
};

RawOptions raw_options(const TensorFunction& f) {
  const Options& o = f.options;
  RawOptions raw;
  raw.rtol = o.rtol;
  raw.atol = o.atol;
  raw.seed = o.seed;
  raw.mode = o.mode;
  raw.kinks = o.kinks;
  raw.seconds = o.seconds;
  raw.output_shape = sizes_of(f.output);
  if (o.upstream.defined()) raw.upstream = numbers(o.upstream);
  return raw;
}

}  // namespace

Report compare_numbers(const std::string& name, Functions functions, std::vector<Input> inputs,
                       RawOptions options) {
  return check_vjp(name, std::move(functions), std::move(inputs), std::move(options));
}

Report TensorFunction::compare(RowSum& rows) const {
  Numbers of_numbers(*this);
  const Functions functions{
      [&](const Arguments& in) { return of_numbers.forward(in); },
      [&](const Arguments& in, const Values& dy) { return of_numbers.vjp(in, dy); }};
  std::vector<Input> raw;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    raw.push_back({options.names[k], sizes_of(inputs[k]), numbers(inputs[k]), wanted()[k]});
    rows.magnitude.emplace_back(raw[k].values.size(), 0.0);
  }
  VjpCheck check(name, functions, raw, raw_options(*this));
  Report report = check.run();
  rows.dy.assign(static_cast<std::size_t>(output.numel()), 0.0);
  for (std::size_t p = 0; p < check.answers().size(); ++p) {
    const Probe& probe = check.probes()[p];
    if (probe.dense()) continue;
    rows.dy[*probe.row] = probe.weight[0];
    for (std::size_t k = 0; k < raw.size(); ++k)
      for (std::size_t j = 0; j < check.answers()[p][k].size(); ++j)
        rows.magnitude[k][j] += std::abs(check.answers()[p][k][j]);
  }
  return report;
}

}  // namespace gradus::check
