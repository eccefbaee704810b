// A reference run on dual numbers, column by column, and the comparisons with what it gives.
#include "gradus/tests/support/oracle.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <map>
#include <sstream>

#include "gradus/engine/backward.h"
#include "gradus/engine/graph.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/reduce.h"

namespace gradus::testing {
namespace {

template <class T>
Arguments<T> arguments(const Sample& sample) {
  Arguments<T> out;
  for (const Tensor& x : sample.inputs) {
    out.push_back({{x.shape().begin(), x.shape().end()}, {}, {}});
    if (is_float(x.dtype()))
      for (const double v : numbers(x)) out.back().values.push_back(v);
    else
      for (const double v : numbers(x)) out.back().integers.push_back(static_cast<std::int64_t>(v));
  }
  return out;
}

/// visit(number, column) for each element of all wanted inputs.
template <class T, class Visit>
void each_wanted(const Sample& sample, Arguments<T>& x, Visit visit) {
  const std::vector<bool> wanted = wanted_inputs(sample);
  std::size_t column = 0;
  for (std::size_t k = 0; k < x.size(); ++k)
    if (wanted[k])
      for (T& number : x[k].values) visit(number, column++);
}

void differentiate(const Sample& sample, Oracle& o) {
  Arguments<First> x = arguments<First>(sample);
  each_wanted(sample, x, [&](First&, std::size_t) { ++o.columns; });
  for (const First& y : sample.reference(x)) o.y.push_back(y.value);
  o.jacobian.resize(o.y.size() * o.columns);
  each_wanted(sample, x, [&](First& number, std::size_t column) {
    number.tangent = 1.0;
    const List<First> y = sample.reference(x);
    for (std::size_t i = 0; i < y.size(); ++i) o.jacobian[i * o.columns + column] = y[i].tangent;
    number.tangent = 0.0;
  });
}

/// ∂²⟨dy, y⟩ / ∂x ∂u: the inner tangent goes along u, the outer one along one element.
void differentiate_twice(const Sample& sample, Oracle& o) {
  o.second.resize(o.columns);
  Arguments<Second> x = arguments<Second>(sample);
  each_wanted(sample, x, [&](Second& number, std::size_t c) { number.value.tangent = o.u[c]; });
  each_wanted(sample, x, [&](Second& number, std::size_t column) {
    number.tangent.value = 1.0;
    const List<Second> y = sample.reference(x);
    for (std::size_t i = 0; i < y.size(); ++i) o.second[column] += o.dy[i] * y[i].tangent.tangent;
    number.tangent.value = 0.0;
  });
}

Oracle make_oracle(const Sample& sample) {
  Oracle o;
  differentiate(sample, o);
  o.dy = numbers(values({static_cast<std::int64_t>(o.y.size())}, 41));  // as upstream_for()
  o.gradient = gradient_for(o, o.dy);
  o.u = numbers(values({static_cast<std::int64_t>(o.columns)}, 43));
  o.along.resize(o.y.size());
  for (std::size_t i = 0; i < o.y.size(); ++i)
    for (std::size_t c = 0; c < o.columns; ++c)
      o.along[i] += o.jacobian[i * o.columns + c] * o.u[c];
  if (sample.second) differentiate_twice(sample, o);
  return o;
}

Numbers joined(const std::vector<Numbers>& parts) {
  Numbers out;
  for (const Numbers& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

Inputs in_f32(const Inputs& inputs) {
  Inputs out;
  for (const Tensor& x : inputs) out.push_back(is_float(x.dtype()) ? x.astype(Dtype::f32) : x);
  return out;
}

/// The gradients by all inputs and by dy of g(x, dy) = Σ_k ⟨u_k, ∂⟨dy, f(x)⟩/∂x_k⟩; zeros where
/// g does not depend on them.
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
  Tensor w = from(o.dy, y.shape());
  w.requires_grad_();
  const std::vector<Tensor> dx =
      grad({y}, leaves, {w}, {.create_graph = true, .allow_unused = true});
  Tensor g = zeros({}, Dtype::f64);
  std::size_t first = 0;
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const auto count = static_cast<std::size_t>(leaves[k].numel());
    const Numbers part(o.u.data() + first, o.u.data() + first + count);
    first += count;
    if (dx[k].defined()) g = g + sum(dx[k] * from(part, leaves[k].shape()));
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

}  // namespace

const Oracle& oracle_of(const Sample& sample) {
  static std::map<const Sample*, Oracle> known;
  const auto at = known.find(&sample);
  return at != known.end() ? at->second : known.emplace(&sample, make_oracle(sample)).first->second;
}

Exact gradient_for(const Oracle& o, const Numbers& dy) {
  Exact g(o.columns);
  for (std::size_t i = 0; i < o.y.size(); ++i)
    for (std::size_t c = 0; c < o.columns; ++c) g[c] += o.jacobian[i * o.columns + c] * dy[i];
  return g;
}

std::string difference(const Numbers& found, const Exact& right, double half_ulp) {
  if (found.size() != right.size())
    return text(found.size(), " elements instead of ", right.size());
  double least = 0;
  for (const math::Bounded& each : right)
    if (std::isfinite(each.error)) least = std::max(least, 1e-3 * each.error);
  double worst = 0;
  std::string message;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double allowed = kOrders * half_ulp * std::max(right[i].error, least);
    const double apart = std::abs(found[i] - right[i].value);
    if (apart <= allowed || found[i] == right[i].value) continue;
    const double times = std::isnan(apart) ? std::numeric_limits<double>::infinity()
                                           : apart / std::max(allowed, 1e-300);
    if (times < worst) continue;
    worst = times;
    std::ostringstream out;
    out.precision(17);
    out << "element " << i << " is " << found[i] << " instead of " << right[i].value << ", "
        << std::setprecision(2) << times << " times what rounding explains";
    message = out.str();
  }
  return message;
}

namespace {

/// The comparisons of one sample, until one fails.
class Comparison {
 public:
  explicit Comparison(const Sample& sample) : sample_(sample), oracle_(oracle_of(sample)) {}
  const std::string& wrong() const { return wrong_; }

  void first_order(const char* how, const Inputs& inputs, double half_ulp, bool create_graph) {
    first_order(how, inputs, half_ulp, create_graph, wanted_inputs(sample_));
  }
  /// Each input wants a gradient alone, and each is left out.
  void subsets(const char* how, bool create_graph) {
    const std::vector<bool> all = wanted_inputs(sample_);
    const auto count = std::count(all.begin(), all.end(), true);
    for (std::size_t k = 0; k < all.size() && count > 1; ++k) {
      if (!all[k]) continue;
      std::vector<bool> alone(all.size(), false), others = all;
      alone[k] = true;
      others[k] = false;
      const std::string input = text(how, ", input ", k);
      first_order(text(input, " alone").c_str(), sample_.inputs, 0x1p-53, create_graph, alone);
      if (count == 2) continue;  // the other one alone
      first_order(text(input, " left out").c_str(), sample_.inputs, 0x1p-53, create_graph, others);
    }
  }
  void second_order(double half_ulp) {
    if (!wrong_.empty()) return;
    const SecondDerivatives found = differentiate_operation(sample_, oracle_);
    check("", "gradient of the gradient by an input", found.by_inputs, oracle_.second, half_ulp);
    check("", "gradient of the gradient by dy", found.by_upstream, oracle_.along, half_ulp);
  }

 private:
  void first_order(const char* how, const Inputs& inputs, double half_ulp, bool create_graph,
                   const std::vector<bool>& wanted) {
    if (!wrong_.empty()) return;
    const Result r = run(sample_, inputs, wanted, {}, create_graph);
    check(how, "value", numbers(r.y), oracle_.y, half_ulp);
    check(how, "gradient", joined(r.dx), part_of(oracle_.gradient, wanted), half_ulp);
  }
  /// What belongs to these inputs.
  Exact part_of(const Exact& whole, const std::vector<bool>& wanted) const {
    const std::vector<bool> all = wanted_inputs(sample_);
    Exact part;
    auto from = whole.begin();
    for (std::size_t k = 0; k < all.size(); ++k) {
      const auto to = from + (all[k] ? sample_.inputs[k].numel() : 0);
      if (wanted[k]) part.insert(part.end(), from, to);
      from = to;
    }
    return part;
  }

  void check(const char* how, const char* what, const Numbers& found, const Exact& right,
             double half_ulp) {
    if (!wrong_.empty()) return;
    const std::string apart = difference(found, right, half_ulp);
    if (!apart.empty()) wrong_ = text(sample_.op, ", ", sample_.what, ": ", what, how, ": ", apart);
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
  compare.first_order("", sample.inputs, kDouble, false);
  compare.first_order(" in f32", in_f32(sample.inputs), kSingle, false);
  if (sample.second) {
    compare.first_order(" under create_graph", sample.inputs, kDouble, true);
    compare.second_order(kDouble);
    compare.subsets(" under create_graph", true);
  }
  compare.subsets("", false);
  const FormulaScope formula;
  compare.first_order(" of the formula", sample.inputs, kDouble, false);
  return compare.wrong();
}

}  // namespace gradus::testing
