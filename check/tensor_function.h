// A function of tensors under test, and its conversion to the functions of numbers that check/raw
// compares.
#pragma once

#include <string>
#include <vector>

#include "gradus/check/gradients.h"
#include "gradus/engine/base/thread_state.h"

namespace gradus::check {

using Flags = std::vector<bool>;  // one for each input

/// What f gave, and the gradients by its inputs: zeros where it does not depend on one, undefined
/// where none is wanted.
struct Outcome {
  Tensor y;
  Tensors dx;
};

/// Rows of the Jacobian, weighted by dy and added up: magnitude = |J|ᵀ|dy| for each input.
struct RowSum {
  Values dy;
  Arguments magnitude;
};

/// check_vjp of raw/vjp_check.h, which takes long to compile, for other files of this component.
Report compare_numbers(const std::string& name, Functions functions, std::vector<Input> inputs,
                       RawOptions options);

class CheckedTensorFunction {
 public:
  /// Runs f once, so that what it throws, or returns by mistake, is seen as it is.
  CheckedTensorFunction(std::string name, Function f, const Tensors& inputs, Options options);

  /// The same function at other inputs, without the options that belong to these inputs.
  CheckedTensorFunction at(const Tensors& other) const;

  /// f with frozen randomness, recorded if the caller records.
  Tensor call(const Tensors& in) const;

  /// The same numbers, in the same layout, as leaves where `wanted`.
  static Tensors leaves(const Tensors& x, const Flags& wanted);
  Tensors leaves(const Tensors& x) const { return leaves(x, wanted()); }

  /// What the graph of y says, which is kept; `in` are the leaves that y was made from.
  Tensors gradients(const Tensor& y, const Tensors& in, const Tensor& dy) const;

  /// f and its gradients for dy, from the start.
  Outcome run(const Tensors& x, const Tensor& dy, const Flags& wanted) const;
  Outcome run(const Tensors& x, const Tensor& dy) const { return run(x, dy, wanted()); }

  /// Compares the gradients with differences; `rows` are those of the Jacobian that it asked for.
  Report compare(RowSum& rows) const;

  const Flags& wanted() const { return options.differentiable; }

  std::string name;
  Options options;   // names and differentiable filled in
  Tensors inputs;    // f64 where floating-point, contiguous, outside of the graph
  bool f32 = false;  // shall f run in f32 too?
  Tensor output;     // f of the inputs

 private:
  void complete(const Tensors& given);
  Function f_;
};

/// The numbers of any tensor, row-major.
Values numbers(const Tensor& x);
Dims sizes_of(const Tensor& x);

/// The whole check. `call` is what the user called: "gradients", "vjp" …
Report run(const CheckedTensorFunction& function, const std::string& call);

}  // namespace gradus::check
