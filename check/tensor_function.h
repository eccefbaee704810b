// Converts functions of tensors to functions of plain values, for check/raw.
#pragma once

#include <string>
#include <vector>

#include "gradus/check/gradients.h"
#include "gradus/engine/base/thread_state.h"

namespace gradus::check {

/// One flag per input.
using Flags = std::vector<bool>;

/// Output and gradients of f. A gradient is zeros if y does not depend on the input, and undefined
/// if it was not requested.
struct Outcome {
  Tensor y;
  Tensors dx;
};

/// Magnitudes of the gradients' terms. For each input, magnitude = |J|ᵀ|dy|.
struct RowSum {
  Values dy;
  Arguments magnitude;
};

/// Calls check_vjp(). Only the source file of this function includes raw/vjp_check.h, which
/// compiles slowly.
Report compare_numbers(const std::string& name, Functions functions, std::vector<Input> inputs,
                       RawOptions options);

/// A function of tensors under test, with its inputs and options.
class CheckedTensorFunction {
 public:
  /// Runs f once; the constructor propagates its exceptions.
  CheckedTensorFunction(std::string name, Function f, const Tensors& inputs, Options options);

  /// Returns the function at other inputs, without the options that depend on the inputs.
  CheckedTensorFunction at(const Tensors& other) const;

  /// Calls f with a fixed random state. Records if the caller does.
  Tensor call(const Tensors& in) const;

  static Tensors leaves(const Tensors& x, const Flags& wanted);
  Tensors leaves(const Tensors& x) const { return leaves(x, wanted()); }

  /// Returns the gradients of y with respect to `in`. Keeps the graph.
  Tensors gradients(const Tensor& y, const Tensors& in, const Tensor& dy) const;

  Outcome run(const Tensors& x, const Tensor& dy, const Flags& wanted) const;
  Outcome run(const Tensors& x, const Tensor& dy) const { return run(x, dy, wanted()); }

  /// Compares the gradients with finite differences, and sets `rows`.
  Report compare(RowSum& rows) const;

  const Flags& wanted() const { return options.differentiable; }

  std::string name;
  Options options;   // with defaults filled in
  Tensors inputs;    // f64 if floating-point; contiguous and outside the graph
  bool f32 = false;  // also check in f32
  Tensor output;

 private:
  void complete(const Tensors& given);
  Function f_;
};

/// Returns the values as doubles, row-major.
Values numbers(const Tensor& x);
Dims sizes_of(const Tensor& x);

/// Runs the full check. `call` is the name of the public function.
Report run(const CheckedTensorFunction& function, const std::string& call, SourceLine place);

}  // namespace gradus::check
