// The oracle: what a sample's values, gradients and second derivatives are, from its reference run
// on dual numbers, and whether the operation gives them.
#pragma once

#include <string>

#include "gradus/tests/support/registry_run.h"

namespace gradus::testing {

using Exact = List<math::Bounded>;  // numbers, and how many half-ulps of 1 rounding may take off

/// What is right of a sample at its inputs. "All inputs" are the wanted ones, one after the other.
/// Of a large sample gradients are seen along kProbes random directions in each input alone.
struct Oracle {
  Exact y;
  std::size_t columns = 0;  // elements of all inputs
  Exact jacobian;           // [y.size(), columns]: ∂y/∂x; empty for a large sample
  List<Numbers> probes;     // directions in all inputs, [columns] each; empty unless large

  Numbers dy;      // upstream_for(y)
  Exact gradient;  // by all inputs: Jᵀ dy, or its products with the probes
  Numbers u;       // a direction in all inputs
  Exact along;     // J u: the gradient by dy of ⟨u, Jᵀ dy⟩
  Exact second;  // the gradient by all inputs of ⟨u, Jᵀ dy⟩, or its products with the probes
};
inline constexpr std::int64_t kProbes = 2;

/// The sample's inputs as its reference wants them.
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

/// Computed once in a process for each sample, which must outlive it: those of all_samples() do.
const Oracle& oracle_of(const Sample& sample);

/// A gradient by all inputs as the oracle has it: itself, or its products with the probes.
Numbers seen(const Oracle& oracle, const Numbers& gradient);

/// Jᵀ dy for another upstream gradient; of a sample that is not large.
Exact gradient_for(const Oracle& oracle, const Numbers& dy);

/// Is each of `found` within rounding of what is right? Else the worst, in words. Not a number is
/// never right.
///
/// An element may be kOrders times as far off as the reference's own rounding could take it,
/// because an operation computes the same in other orders and by other formulas (softmax takes off
/// a maximum, backward goes the other way through the graph); but at least a thousandth of what the
/// worst element may: a formula that takes a sum over a row (a mean, Σ y dy) brings its rounding to
/// elements, too, that are small. `half_ulp` is that of the dtype, 2⁻⁵³ or 2⁻²⁴.
std::string difference(const Numbers& found, const Exact& right, double half_ulp);

inline constexpr double kOrders = 4;

/// Is this sample right? Values; gradients by the kernels, by the formula's backward, under
/// create_graph and under FormulaScope, for all inputs, each alone and each left out, with strides,
/// at the ends of a graph and inside; second derivatives; all in f64 with fresh memory that is NaN,
/// and values and gradients in f32. Empty if so, else one line: what is wrong where, and both
/// numbers. What the operation throws passes through. The oracle's side is computed at the first
/// call and kept.
std::string run_oracle(const Sample& sample);

}  // namespace gradus::testing
