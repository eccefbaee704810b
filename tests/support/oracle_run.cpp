#include <algorithm>

#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/support/oracle.h"

namespace gradus::testing {
namespace {

Numbers joined(const std::vector<Numbers>& parts) {
  Numbers out;
  for (const Numbers& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

Numbers halved(Numbers x) {
  for (double& v : x) v /= 2;
  return x;
}

Inputs in_f32(const Inputs& inputs) {
  Inputs out;
  for (const Tensor& x : inputs) out.push_back(is_float(x.dtype()) ? x.to(Dtype::f32) : x);
  return out;
}

/// Gradients of g(x, dy) = Σ_k ⟨u_k, ∂⟨dy, f(x)⟩/∂x_k⟩.
struct SecondDerivatives {
  Numbers by_inputs, by_upstream;
};

SecondDerivatives differentiate_operation(const Sample& sample, const Oracle& o) {
  const std::vector<bool> wanted = wanted_inputs(sample);
  Inputs x, leaves;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    x.push_back(sample.inputs[k].detach());
    if (wanted[k]) leaves.push_back(x.back().requires_grad_());
  }
  const Tensor y = sample.f(x);
  SecondDerivatives out{Numbers(o.columns, 0.0), Numbers(o.y.size(), 0.0)};
  if (!y.requires_grad()) return out;
  Tensor w = tensor(o.dy, y.shape());
  w.requires_grad_();
  const std::vector<Tensor> dx =
      grad({y}, leaves, {w}, {.create_graph = true, .allow_unused = true});
  Tensor g = zeros({}, Dtype::f64);
  std::size_t first = 0;
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const auto count = static_cast<std::size_t>(leaves[k].numel());
    const Numbers part(o.u.data() + first, o.u.data() + first + count);
    first += count;
    if (dx[k].defined()) g = g + sum(dx[k] * tensor(part, leaves[k].shape()));
  }
  if (!g.requires_grad()) return out;
  leaves.push_back(w);
  const std::vector<Tensor> found = grad({g}, leaves, {}, {.allow_unused = true});
  std::vector<Numbers> by_inputs;
  for (std::size_t k = 0; k < found.size(); ++k) {
    const Numbers part = found[k].defined() ? numbers(found[k])
                                            : Numbers(static_cast<std::size_t>(leaves[k].numel()));
    if (k + 1 == found.size())
      out.by_upstream = part;
    else
      by_inputs.push_back(part);
  }
  out.by_inputs = joined(by_inputs);
  return out;
}

/// Records the first failure and skips all later comparisons.
class Comparison {
 public:
  explicit Comparison(const Sample& sample) : sample_(sample), oracle_(oracle_of(sample)) {}
  const std::string& wrong() const { return wrong_; }

  void first_order(const char* how, const Inputs& inputs, double half_ulp, Backward backward) {
    first_order(how, inputs, half_ulp, backward, wanted_inputs(sample_));
  }
  /// Runs the op inside a larger graph that holds the only handles to inputs and upstream gradient,
  /// so backward may overwrite them. The factors 1, 2 and ½ are exact.
  void between(const char* how, const Inputs& inputs, double half_ulp) {
    if (!wrong_.empty()) return;
    Sample longer = sample_;
    const bool layer = function_of(sample_).find("nn::") == 0;  // parameters must be leaves
    longer.f = [&, layer](const Inputs& x) {
      Inputs own;
      for (const Tensor& each : x)
        own.push_back(is_float(each.dtype()) && !layer ? scale(each, 1) : each);
      return scale(sample_.f(own), 2);
    };
    const Numbers half = halved(oracle_.dy);
    const Tensor like = sample_.f(inputs);
    const Tensor dy = tensor(half, like.shape()).to(like.dtype());
    const Result r = run(longer, inputs, wanted_inputs(sample_), dy);
    check(how, "value", halved(numbers(r.y)), oracle_.y, half_ulp);
    check(how, "gradient", seen(oracle_, joined(r.dx)), oracle_.gradient, half_ulp);
  }
  void strided(const char* how) {
    for (const Layout layout : {Layout::column_major, Layout::every_second})
      first_order(how, laid_out(sample_.inputs, layout), 0x1p-53, Backward::kernels,
                  wanted_inputs(sample_), layout);
  }
  /// Compares the gradients of each single input, and of all inputs but one.
  void subsets(const char* how, Backward backward) {
    const std::vector<bool> all = wanted_inputs(sample_);
    const auto count = std::count(all.begin(), all.end(), true);
    for (std::size_t k = 0; k < all.size() && count > 1; ++k) {
      if (!all[k]) continue;
      std::vector<bool> alone(all.size(), false), others = all;
      alone[k] = true;
      others[k] = false;
      const std::string input = str_cat(how, ", input ", k);
      first_order(str_cat(input, " alone").c_str(), sample_.inputs, 0x1p-53, backward, alone);
      // With two inputs, the loop also tests the other input on its own.
      if (count == 2) continue;
      first_order(str_cat(input, " left out").c_str(), sample_.inputs, 0x1p-53, backward, others);
    }
  }
  void second_order(double half_ulp) {
    if (!wrong_.empty()) return;
    const SecondDerivatives found = differentiate_operation(sample_, oracle_);
    check("", "gradient of the gradient with respect to an input", seen(oracle_, found.by_inputs),
          oracle_.second, half_ulp);
    check("", "gradient of the gradient with respect to dy", found.by_upstream, oracle_.along,
          half_ulp);
  }

 private:
  void first_order(const char* how, const Inputs& inputs, double half_ulp, Backward backward,
                   const std::vector<bool>& wanted, Layout layout = Layout::packed) {
    if (!wrong_.empty()) return;
    Tensor dy;
    if (layout != Layout::packed) {
      const NoGrad quiet;
      dy = laid_out(upstream_for(sample_.f(inputs)), layout);
    }
    const Result r = run(sample_, inputs, wanted, dy, backward);
    check(how, "value", numbers(r.y), oracle_.y, half_ulp);
    const std::vector<bool> all = wanted_inputs(sample_);
    std::vector<Numbers> dx;  // zeros for inputs without a gradient
    for (std::size_t k = 0, next = 0; k < all.size(); ++k) {
      const auto count = static_cast<std::size_t>(sample_.inputs[k].numel());
      if (all[k]) dx.push_back(wanted[k] ? r.dx[next++] : Numbers(count, 0.0));
    }
    check(how, "gradient", part_of(seen(oracle_, joined(dx)), wanted),
          part_of(oracle_.gradient, wanted), half_ulp);
  }
  template <class T>
  List<T> part_of(const List<T>& list, const std::vector<bool>& wanted) const {
    const std::vector<bool> all = wanted_inputs(sample_);
    List<T> part;
    auto from = list.begin();
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (!all[k]) continue;
      const auto to = from + (sample_.large ? kProbes : sample_.inputs[k].numel());
      if (wanted[k]) part.insert(part.end(), from, to);
      from = to;
    }
    return part;
  }

  void check(const char* how, const char* what, const Numbers& found, const Exact& right,
             double half_ulp) {
    if (!wrong_.empty()) return;
    const std::string apart = difference(found, right, half_ulp);
    if (!apart.empty())
      wrong_ = str_cat(sample_.op, ", ", sample_.what, ": ", what, how, ": ", apart);
  }

  const Sample& sample_;
  const Oracle& oracle_;
  std::string wrong_;
};

}  // namespace

std::string run_oracle(const Sample& sample) {
  constexpr double kDouble = 0x1p-53, kSingle = 0x1p-24;
  Comparison compare(sample);
  const Poison poison;
  const Inputs single = in_f32(sample.inputs);
  compare.first_order("", sample.inputs, kDouble, Backward::kernels);
  compare.first_order(" in f32", single, kSingle, Backward::kernels);
  compare.strided(" with strides");
  compare.between(" between operations", sample.inputs, kDouble);
  compare.between(" between operations in f32", single, kSingle);
  compare.first_order(" by the formula's backward", sample.inputs, kDouble, Backward::formulas);
  compare.subsets("", Backward::kernels);
  if (sample.second) {
    compare.first_order(" under create_graph", sample.inputs, kDouble, Backward::recorded);
    compare.subsets(" under create_graph", Backward::recorded);
    compare.second_order(kDouble);
  }
  const FormulaScope formula;
  compare.first_order(" of the formula", sample.inputs, kDouble, Backward::kernels);
  return compare.wrong();
}

}  // namespace gradus::testing
