// A function of tensors under test, and its conversion to the functions of plain values that
// check/raw compares.
#pragma once

#include <string>
#include <vector>

#include "gradus/check/gradients.h"
#include "gradus/engine/base/thread_state.h"

namespace gradus::check {

using Flags = std::vector<bool>;  // one for each input

/// The output of f, and the gradients with respect to its inputs: zeros where y does not depend on
/// one, undefined where none is wanted.
struct Outcome {
  Tensor y;
  Tensors dx;
};

/// For each input, magnitude = |J|ᵀ|dy|.
struct RowSum {
  Values dy;
  Arguments magnitude;
};

/// Calls check_vjp of raw/vjp_check.h, so that other files need not include that header, which is
/// slow to compile.
Report compare_numbers(const std::string& name, Functions functions, std::vector<Input> inputs,
                       RawOptions options);

class CheckedTensorFunction {
 public:
  /// Runs f once, so that its exceptions and wrong return values surface here.
  CheckedTensorFunction(std::string name, Function f, const Tensors& inputs, Options options);

  /// The same function at other inputs, without the options that depend on the inputs.
  CheckedTensorFunction at(const Tensors& other) const;

  /// Calls f with a fixed random state. Records if the caller records.
  Tensor call(const Tensors& in) const;

  /// Detached tensors on the same storage; those in `wanted` become leaves.
  static Tensors leaves(const Tensors& x, const Flags& wanted);
  Tensors leaves(const Tensors& x) const { return leaves(x, wanted()); }

  /// Gradients of y with respect to the leaves `in`. Keeps the graph.
  Tensors gradients(const Tensor& y, const Tensors& in, const Tensor& dy) const;

  /// Runs a new forward and backward pass.
  Outcome run(const Tensors& x, const Tensor& dy, const Flags& wanted) const;
  Outcome run(const Tensors& x, const Tensor& dy) const { return run(x, dy, wanted()); }

  /// Compares the gradients with finite differences. Fills `rows` from the Jacobian rows computed
  /// on the way.
  Report compare(RowSum& rows) const;

  const Flags& wanted() const { return options.differentiable; }

  std::string name;
  Options options;   // names and differentiable filled in
  Tensors inputs;    // f64 if floating-point, contiguous, outside the graph
  bool f32 = false;  // whether f also runs in f32
  Tensor output;     // f of the inputs

 private:
  void complete(const Tensors& given);
  Function f_;
};

/// The values of any tensor in row-major order, as doubles.
Values numbers(const Tensor& x);
Dims sizes_of(const Tensor& x);

/// Runs the full check. `call` is the name of the public function, e.g. "gradients".
Report run(const CheckedTensorFunction& function, const std::string& call);

}  // namespace gradus::check
