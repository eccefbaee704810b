#include "gradus/tests/support/conditions.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/memory.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/members.h"
#include "gradus/tests/support/registry_run.h"

namespace gradus::testing {

std::string differs(const Result& a, const Result& b, const std::string& where) {
  if (a.y.shape() != b.y.shape()) return where + ": the shapes differ";
  if (!equal_but_for_order(numbers(a.y), numbers(b.y))) return where + ": the values differ";
  if (a.dx.size() != b.dx.size()) return where + ": the numbers of gradients differ";
  for (std::size_t k = 0; k < a.dx.size(); ++k)
    if (!equal_but_for_order(a.dx[k], b.dx[k]))
      return str_cat(where, ": gradient ", k, " is off by ", distance(a.dx[k], b.dx[k]));
  return "";
}

std::string layouts(const Sample& sample) {
  const Result packed = run(sample);
  for (const Layout layout : kLayouts) {
    const Result other = run(sample, laid_out(sample.inputs, layout), wanted_inputs(sample));
    if (std::string wrong = differs(packed, other, name_of(layout)); !wrong.empty())
      return "inputs " + wrong;
  }
  return "";
}

std::string upstream(const Sample& sample) {
  const Result packed = run(sample);
  const auto with = [&](const Tensor& dy) {
    return run(sample, sample.inputs, wanted_inputs(sample), dy);
  };
  for (const Layout layout : kLayouts) {
    const Result other = with(laid_out(upstream_for(packed.y), layout));
    if (std::string wrong = differs(packed, other, name_of(layout)); !wrong.empty())
      return "upstream " + wrong;
  }
  const Shape shape = packed.y.shape();
  const Tensor full = Tensor::empty(shape, Dtype::f64).fill_(0.7);
  const Tensor one = Tensor::empty({}, Dtype::f64).fill_(0.7);
  const Tensor spread = kernel::strided_view(one, shape, Strides::filled(shape.rank(), 0), 0);
  if (std::string wrong = differs(with(full), with(spread), "upstream expanded from one value");
      !wrong.empty())
    return wrong;
  for (const Numbers& dx : with(Tensor::empty(shape, Dtype::f64).fill_(0)).dx)
    if (!std::all_of(dx.begin(), dx.end(), [](double v) { return v == 0; }))
      return "a zero upstream gradient gave gradients that are not 0";
  return "";
}

std::string adding_up(const Sample& sample) {
  const Result once = run(sample);
  const std::vector<bool> wanted = wanted_inputs(sample);
  Inputs x;
  std::vector<std::uint32_t> versions;
  for (std::size_t k = 0; k < sample.inputs.size(); ++k) {
    x.push_back(sample.inputs[k].clone());
    if (wanted[k]) x[k].requires_grad_();
    versions.push_back(x[k].storage()->version());
  }
  std::vector<Tensor> after_first;
  for (int i = 0; i < 2; ++i) {
    const Tensor y = sample.f(x);
    const Tensor dy = upstream_for(y);
    y.backward(dy);
    if (numbers(dy) != numbers(upstream_for(y))) return "the upstream gradient was written to";
    for (const Tensor& each : x)
      if (i == 0) after_first.push_back(each.grad());
  }
  for (std::size_t k = 0, next = 0; k < x.size(); ++k) {
    if (x[k].storage()->version() != versions[k] || numbers(x[k]) != numbers(sample.inputs[k]))
      return "an input was written to";
    if (!wanted[k]) continue;
    const Numbers& dx = once.dx[next++];
    if (!x[k].grad().defined() && largest(dx) == 0) continue;
    if (!x[k].grad().defined()) return "no gradient";
    Numbers twice = dx;
    for (double& v : twice) v *= 2;
    if (numbers(after_first[k]) != dx) return "a gradient changed after it was returned";
    if (numbers(x[k].grad()) != twice)
      return str_cat("gradient ", next - 1, " of two passes is not twice the gradient of one");
  }
  return "";
}

std::string left_behind(const Sample& sample) {
  run(sample);  // fills caches
  const std::int64_t before = memory::usage().live_bytes;
  run(sample);
  run(sample, sample.inputs, wanted_inputs(sample), {},
      sample.second ? Backward::recorded : Backward::kernels);
  const std::int64_t held = memory::usage().live_bytes - before;
  return held == 0 ? "" : str_cat("a run keeps ", held, " more bytes");
}

}  // namespace gradus::testing
