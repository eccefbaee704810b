// Conditions that break gradients which are otherwise correct. Finite differences are measured
// once, at the given inputs. Each condition then compares two gradients, at the cost of one or two
// forward and backward passes.
//
// The conditions are in layout.cpp, accumulation.cpp, side_effects.cpp and precision.cpp. The
// comment of each says why users' gradients break there.
#pragma once

#include <functional>
#include <string>

#include "gradus/check/raw/report.h"
#include "gradus/check/tensor_function.h"

namespace gradus::check {

/// Inputs and an upstream gradient, with the function's result there. All other runs are compared
/// with that result.
class Trial {
 public:
  Trial(const CheckedTensorFunction& function, const RowSum& rows, Report& report, Tensors x,
        Tensor dy);

  using Run = std::function<Outcome()>;

  /// Compares the result of `run` (called with recording on) with `expected`. Adds the finding
  /// "`what`: …" and returns false if they differ or if `run` throws. Undefined tensors are not
  /// compared.
  bool equal(const std::string& what, const Cause& cause, const Run& run, const Outcome& expected);
  /// Compares `run` with `base`.
  bool same(const std::string& what, const Cause& cause, const Run& run) {
    return equal(what, cause, run, base);
  }
  void add(std::size_t input, const Cause& cause, const std::string& note);

  /// A trial of the same function at other inputs, with the same report.
  Trial elsewhere(Tensors at, Tensor upstream) const {
    return {f, rows, report, std::move(at), std::move(upstream)};
  }

  /// How strongly a relative rounding of the inputs, or of the gradient's terms, changes the
  /// gradient of input k. Multiply by a relative rounding to get an absolute bound.
  double carried(std::size_t k);

  const CheckedTensorFunction& f;
  const RowSum& rows;
  Report& report;
  const Tensors x;
  const Tensor dy;
  const Outcome base;

 private:
  bool compare(const std::string& what, const Cause& cause, std::size_t k, const Tensor& found,
               const Tensor& expected);
  double sensitivity(std::size_t k);
  double size_of_terms(std::size_t k) const;
  Values sensitivity_;
};

/// Random values in ±[1.5, 2.5), with the shape and dtype of `like`.
Tensor other_numbers(const Tensor& like, std::uint64_t seed = 77);

/// Multiplies each value by 1 ± up to 5/4 of `share`.
Tensors nudged(const Tensors& x, const Flags& wanted, double share, std::uint64_t seed = 11);

/// f(k) where x[k] is defined; undefined elsewhere.
template <class F>
Tensors for_each_defined(const Tensors& x, F f) {
  Tensors out(x.size());
  for (std::size_t k = 0; k < x.size(); ++k)
    if (x[k].defined()) out[k] = f(k);
  return out;
}

/// Runs all conditions and adds their findings to `report`.
void check_conditions(const CheckedTensorFunction& function, const RowSum& rows, Report& report);

void check_layouts(Trial& trial);       // strided, offset, repeated, transposed
void check_accumulation(Trial& trial);  // .grad in use, twice, f(x, x), fan-out, subsets of inputs
void check_side_effects(Trial& trial);  // fresh memory, sums of upstream gradients, errors
void check_precision(Trial& trial);     // f32

}  // namespace gradus::check
