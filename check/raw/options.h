// Inputs and options of a check.
#pragma once

#include <functional>
#include <stdexcept>

#include "gradus/check/raw/kinks.h"
#include "gradus/check/raw/words.h"

namespace gradus::check {

/// An argument of the function under test, row-major.
struct Input {
  std::string name = {};  // default: "x0", "x1" …
  Dims shape = {};        // default: one axis; none for a single value
  Values values = {};
  bool differentiable = true;  // false for indices and masks
  bool tangent = false;        // a step on a manifold, for which 0 is not a special point
};

/// One of several outputs, which are joined to one.
struct OutputPart {
  std::string name = {};
  Dims shape = {};
};

/// Maps inputs to the output, row-major. Must have no side effects.
using Forward = std::function<Values(const Arguments&)>;

/// Maps inputs and dy to one gradient per input. The gradient of an input that is not
/// differentiable may be empty.
using Derivative = std::function<Arguments(const Arguments&, const Values& dy)>;

/// Like Derivative, but adds to or overwrites gradient buffers that contain `start` before the
/// call. Returns the buffers.
using DerivativeInto =
    std::function<Arguments(const Arguments&, const Values& dy, const Arguments& start)>;

/// The functions to check. Required: `forward`, and `vjp` or `into`.
struct Functions {
  Forward forward;
  Derivative vjp;
  DerivativeInto into = {};          // writes to the caller's buffers
  bool accumulates = false;          // `into` adds to its buffers
  bool linear = false;               // vjp multiplies by a matrix, so it is linear in dy
  std::function<Dims()> shape = {};  // shape of the output, called after the first forward
  Forward reference = {};            // forward in double, if forward computes in float
  double ulp = std::numeric_limits<double>::epsilon();  // machine epsilon of both functions
};

/// Which derivatives a check compares.
enum class Mode {
  automatic,    // full up to 256 outputs, 2048 elements, 1e5 pairs
  full,         // every element against every output
  projections,  // a sample, weighted sums of outputs, directions of elements
  quick         // sums and directions with hardly a sample; automatic if these do not pass
};

/// Options for plain arrays. Checks of tensors convert check::Options to these.
struct RawOptions {
  Mode mode = Mode::automatic;
  std::uint64_t seed = 0x5eed;         // seed of upstream gradients and samples
  double rtol = 1e-7;                  // see Tolerance
  double atol = 1e-9;                  // relative to the element's largest derivative
  double resolution = 0;               // > 0: accuracy to check, for noisy functions
  int projections = 6;                 // weighted sums of outputs; in a sample, also directions
  std::size_t rows = 13;               // outputs in a sample
  std::size_t columns = 60;            // elements per input in a sample
  std::size_t findings = 3;            // maximum listed per input
  Dims output_shape = {};              // shape shown in the report; default: one axis
  std::vector<OutputPart> parts = {};  // the joined outputs, for the report
  Values upstream = {};                // an additional upstream gradient
  std::vector<Kink> kinks = {};        // points with a conventional derivative
  double seconds = 0;                  // > 0: time limit
  int threads = 1;                     // concurrent calls of forward; 0: one per core
  bool neighborhood = true;            // near special points, also check a neighbor
  bool outputs_are_sums = false;  // each output is a random weighted sum of a function's outputs

  Tolerance tolerance() const {
    Tolerance result;
    result.rtol = std::max(rtol, resolution);
    result.atol = std::max(atol, resolution);
    if (resolution > 0) result.seen = result.floor = resolution;
    result.exact = resolution == 0;
    return result;
  }
};

/// Thrown if the check is misused.
class BadInput : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// Thrown by a function under test whose derivative does not exist yet.
class Unimplemented : public std::logic_error {
  using std::logic_error::logic_error;
};

/// Thrown if a function under test wrote to memory that it must not change.
class Damage : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Fills in names and shapes. Throws BadInput if a shape does not match its values, or if no input
/// is differentiable.
inline std::vector<Input> completed(const std::string& name, std::vector<Input> inputs) {
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    Input& input = inputs[k];
    if (input.name.empty()) input.name = joined("x", k);
    if (input.shape.empty() && input.values.size() != 1) input.shape = {std::ssize(input.values)};
    const std::string which =
        joined(name, ": input '", input.name, "' has the shape ", list(input.shape));
    if (std::any_of(input.shape.begin(), input.shape.end(), [](auto n) { return n < 0; }))
      throw BadInput(which + ". Sizes must be at least 0");
    if (count_of(input.shape) != input.values.size())
      throw BadInput(joined(which, ", which takes ", count_of(input.shape), " values, but ",
                            input.values.size(), " were given"));
  }
  if (std::any_of(inputs.begin(), inputs.end(), [](const Input& i) { return i.differentiable; }))
    return inputs;
  throw BadInput(joined(name, ": none of the ", inputs.size(),
                        " inputs is differentiable. Pass at least one with differentiable = true"));
}

}  // namespace gradus::check
