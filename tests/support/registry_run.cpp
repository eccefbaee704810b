#include "gradus/tests/support/registry_run.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/memory.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/members.h"

namespace gradus::testing {

const Samples& all_samples() {
  static const Samples all = [] {
    Samples list;
    for (Samples (*family)() : {activation_samples,  arithmetic_samples,
                                attention_samples,   derivative_samples,
                                dropout_samples,     indexing_samples,
                                logic_samples,       loss_samples,
                                matmul_samples,      movement_samples,
                                norm_samples,        order_samples,
                                reduce_samples,      softmax_samples,
                                kink_samples,        large_samples,
                                large_row_samples,   layer_samples,
                                training_samples,    view_samples,
                                position_samples,    token_layer_samples,
                                transformer_samples, sequence_model_samples,
                                convolution_samples, linear_attention_samples,
                                measure_samples,     encoder_model_samples,
                                option_samples})
      for (Sample& sample : family()) list.push_back(std::move(sample));
    return list;
  }();
  return all;
}

std::vector<bool> wanted_inputs(const Sample& sample) {
  if (!sample.differentiable.empty()) return sample.differentiable;
  std::vector<bool> wanted;
  for (const Tensor& x : sample.inputs) wanted.push_back(is_float(x.dtype()));
  return wanted;
}

const char* name_of(Layout layout) {
  switch (layout) {
    case Layout::packed:
      return "packed";
    case Layout::column_major:
      return "column-major";
    case Layout::padded:
      return "inside a larger buffer";
    case Layout::every_second:
      return "every second element";
  }
  return "?";
}

Tensor laid_out(const Tensor& x, Layout layout) {
  Strides strides = x.strides();
  std::int64_t offset = 0, step = layout == Layout::every_second ? 2 : 1;
  const auto place = [&](int axis) {
    strides[axis] = step;
    if (layout == Layout::padded) offset += 2 * step;
    step *= std::max<std::int64_t>(x.size(axis), 1) + (layout == Layout::padded ? 3 : 0);
  };
  for (int i = 0; i < x.rank(); ++i) place(layout == Layout::column_major ? i : x.rank() - 1 - i);
  if (layout == Layout::padded) offset += 1;  // so that tensors of rank 0 have an offset, too
  Tensor view = kernel::strided_view(Tensor::empty({step + offset + 1}, x.dtype()), x.shape(),
                                     strides, offset);
  return view.copy_(x);
}

Inputs laid_out(const Inputs& inputs, Layout layout) {
  Inputs out;
  for (const Tensor& x : inputs) out.push_back(laid_out(x.detach(), layout));
  return out;
}

Tensor upstream_for(const Tensor& y) { return values(y.shape(), 41).to(y.dtype()); }

Result run(const Sample& sample, const Inputs& inputs, const std::vector<bool>& wanted,
           const Tensor& dy, Backward backward) {
  Inputs x, leaves;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    x.push_back(inputs[k].detach());
    if (wanted[k]) leaves.push_back(x.back().requires_grad_());
  }
  Result result{sample.f(x), {}};
  const Tensor& y = result.y;
  const FormulaScope formulas(backward == Backward::formulas || formula_wanted());
  const std::vector<Tensor> dx = grad(
      {y}, leaves, {dy.defined() ? dy : upstream_for(y)},
      {.create_graph = backward == Backward::recorded, .keep_graph = false, .allow_unused = true});
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const auto count = static_cast<std::size_t>(leaves[k].numel());
    result.dx.push_back(dx[k].defined() ? numbers(dx[k]) : Numbers(count, 0.0));
  }
  result.y = y.detach();
  return result;
}

Result run(const Sample& sample) { return run(sample, sample.inputs, wanted_inputs(sample)); }

double largest(const Numbers& x) {
  double most = 0;
  for (const double v : x) most = std::max(most, std::abs(v));
  return most;
}

double distance(const Numbers& a, const Numbers& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double apart = std::abs(a[i] - b[i]);
    if (std::isnan(apart)) return std::numeric_limits<double>::infinity();
    most = std::max(most, apart);
  }
  return most;
}

bool equal_but_for_order(const Numbers& a, const Numbers& b) {
  return distance(a, b) <= 1.1e-12 * std::max({1.0, largest(a), largest(b)});
}

namespace {
int poisons = 0;  // number of live Poison objects
}

Poison::Poison() {
  if (poisons++ == 0) memory::set_poison(true);
}
Poison::~Poison() {
  if (--poisons == 0) memory::set_poison(false);
}

}  // namespace gradus::testing
