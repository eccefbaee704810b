// The oracle: exact values, gradients and second derivatives of a sample. They are computed from
// the sample's reference on dual numbers.
#pragma once

#include <string>

#include "gradus/tests/support/registry_run.h"

namespace gradus::testing {

using Exact = List<math::Bounded>;  // values with rounding errors in half-ulps of 1

/// "All inputs" are the differentiable inputs, concatenated. For a large sample, gradients are
/// computed only along kProbes random directions per input.
struct Oracle {
  Exact y;
  std::size_t columns = 0;  // number of elements of all inputs
  Exact jacobian;           // [y.size(), columns]: ∂y/∂x; empty for a large sample
  List<Numbers> probes;     // [columns] each; empty unless large

  Numbers dy;      // upstream_for(y)
  Exact gradient;  // Jᵀ dy; if large, its dot products with the probes
  Numbers u;       // a direction
  Exact along;     // J u = ∂⟨u, Jᵀ dy⟩/∂dy
  Exact second;    // ∂⟨u, Jᵀ dy⟩/∂x; if large, its dot products with the probes
};
inline constexpr std::int64_t kProbes = 2;

template <class T>
Arguments<T> arguments(const Sample& sample) {
  Arguments<T> out;
  for (const Tensor& x : sample.inputs) {
    out.push_back({{x.shape().begin(), x.shape().end()}, {}, {}});
    for (const double v : numbers(x))
      if (is_float(x.dtype()))
        out.back().values.push_back(v);
      else
        out.back().integers.push_back(static_cast<std::int64_t>(v));
  }
  return out;
}

/// Returns the oracle, computed once per process. The sample must outlive the cache, as in
/// all_samples().
const Oracle& oracle_of(const Sample& sample);

/// Projects a gradient onto the probes of a large sample.
Numbers seen(const Oracle& oracle, const Numbers& gradient);

/// Returns Jᵀ dy for another upstream gradient. Does not support large samples.
Exact gradient_for(const Oracle& oracle, const Numbers& dy);

/// Returns "" if each element of `found` equals `right` up to rounding. Otherwise reports the worst
/// element. NaN never passes.
///
/// The tolerance is kOrders times the rounding error of the reference, because an op may add in
/// another order and use other formulas (softmax subtracts a maximum). The tolerance is at least a
/// thousandth of the largest tolerance, because a formula with a row sum (a mean, Σ y dy) adds the
/// sum's rounding error to small elements. `half_ulp`: 2⁻⁵³ for f64, 2⁻²⁴ for f32.
std::string difference(const Numbers& found, const Exact& right, double half_ulp);

inline constexpr double kOrders = 4;

/// Returns "" if the sample matches the oracle. Otherwise returns one line with the position and
/// both values. In f64, with fresh memory filled with NaN, compares values, gradients and second
/// derivatives. Gradients come from kernels, formulas, create_graph and FormulaScope. They are
/// computed for all inputs, for each input, for all inputs but one, with strides, and inside a
/// larger graph. In f32, compares values and gradients. Exceptions of the op propagate.
std::string run_oracle(const Sample& sample);

}  // namespace gradus::testing
