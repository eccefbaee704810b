// Conditions under which a correct backward pass may still fail: memory layout, accumulation, side
// effects, precision. Finite differences are measured once. Each condition then compares two
// gradients.
#pragma once

#include <functional>
#include <string>

#include "gradus/check/raw/report.h"
#include "gradus/check/tensor_function.h"

namespace gradus::check {

/// Inputs and an upstream gradient. All runs are compared with the result for these (`base`).
class Trial {
 public:
  Trial(const CheckedTensorFunction& function, const RowSum& rows, Report& report, Tensors x,
        Tensor dy);

  using Run = std::function<Outcome()>;

  /// Compares the result of `run`, called with recording on, with `expected`. If the results differ
  /// or `run` throws, adds the finding "`what`: …" and returns false. Ignores undefined tensors.
  bool equal(const std::string& what, const Cause& cause, const Run& run, const Outcome& expected);
  /// Compares the result of `run` with `base`.
  bool same(const std::string& what, const Cause& cause, const Run& run) {
    return equal(what, cause, run, base);
  }
  void add(std::size_t input, const Cause& cause, const std::string& note);

  /// Returns a trial of the same function at other inputs, with the same report.
  Trial elsewhere(Tensors at, Tensor upstream) const {
    return {f, rows, report, std::move(at), std::move(upstream)};
  }

  /// Returns how much gradient k changes if the inputs or the gradient's terms change by a relative
  /// rounding error.
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

/// Returns random values in ±[1.5, 2.5), in the shape of `like`.
Tensor other_numbers(const Tensor& like, std::uint64_t seed = 77);

/// Multiplies each value of the wanted tensors by a random factor in 1 ± 1.25 `share`.
Tensors nudged(const Tensors& x, const Flags& wanted, double share, std::uint64_t seed = 11);

/// Returns f(k) for each defined x[k], and undefined tensors elsewhere.
template <class F>
Tensors for_each_defined(const Tensors& x, F f) {
  Tensors out(x.size());
  for (std::size_t k = 0; k < x.size(); ++k)
    if (x[k].defined()) out[k] = f(k);
  return out;
}

/// Runs all conditions and adds their findings.
void check_conditions(const CheckedTensorFunction& function, const RowSum& rows, Report& report);

void check_layouts(Trial& trial);       // strided, offset, repeated, transposed
void check_accumulation(Trial& trial);  // .grad in use, f(x, x), fan-out, subsets of inputs
void check_side_effects(Trial& trial);  // fresh memory, sums of upstream gradients, errors
void check_precision(Trial& trial);     // f32 compared with f64

}  // namespace gradus::check
