// The conditions under which gradients break that are right otherwise. Differences are measured
// once, at the inputs as they stand; each condition then compares a gradient with a gradient, for a
// forward and a backward pass or two.
//
// A condition says in its comment why users' gradients break there, and runs the function under it:
// layout.cpp, accumulation.cpp, side_effects.cpp, precision.cpp.
#pragma once

#include <functional>
#include <string>

#include "gradus/check/raw/report.h"
#include "gradus/check/tensor_function.h"

namespace gradus::check {

/// One place at which the function is run: inputs and an upstream gradient, with the result that
/// all others are compared with.
class Trial {
 public:
  Trial(const CheckedTensorFunction& function, const RowSum& rows, Report& report, Tensors x,
        Tensor dy);

  using Run = std::function<Outcome()>;

  /// Does `run`, which is recorded, give what is expected? If not, a finding: "`what`: …". What it
  /// throws is a finding too. Returns false there. Undefined parts of either are not compared.
  bool equal(const std::string& what, const Cause& cause, const Run& run, const Outcome& expected);
  /// The same, expecting what the function gives here.
  bool same(const std::string& what, const Cause& cause, const Run& run) {
    return equal(what, cause, run, base);
  }
  void add(std::size_t input, const Cause& cause, const std::string& note);

  /// The same report, another place.
  Trial elsewhere(Tensors at, Tensor upstream) const {
    return {f, rows, report, std::move(at), std::move(upstream)};
  }

  /// How much of a rounding of the inputs arrives in the gradient by input k, and what roundings of
  /// its terms can be as large as: both as factors of a relative rounding.
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

/// Random numbers in ±[1.5, 2.5), of like's shape and dtype.
Tensor other_numbers(const Tensor& like, std::uint64_t seed = 77);

/// Each number moved by up to 5/4 of its `share`, one way or the other.
Tensors nudged(const Tensors& x, const Flags& wanted, double share, std::uint64_t seed = 11);

/// f(k) where x[k] is defined; undefined for the others.
template <class F>
Tensors for_each_defined(const Tensors& x, F f) {
  Tensors out(x.size());
  for (std::size_t k = 0; k < x.size(); ++k)
    if (x[k].defined()) out[k] = f(k);
  return out;
}

/// Runs the conditions and adds what they find.
void check_conditions(const CheckedTensorFunction& function, const RowSum& rows, Report& report);

void check_layouts(Trial& trial);       // strided, offset, repeated, transposed
void check_accumulation(Trial& trial);  // .grad in use, twice, f(x, x), fan-out, subsets of inputs
void check_side_effects(Trial& trial);  // fresh memory, sums of upstream gradients, errors
void check_precision(Trial& trial);     // f32

}  // namespace gradus::check
