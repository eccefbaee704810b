// The input of a check: inputs, functions of plain values, and options.
#pragma once

#include <functional>
#include <stdexcept>

#include "gradus/check/raw/kinks.h"
#include "gradus/check/raw/words.h"

namespace gradus::check {

/// One argument of the function under test, row-major.
struct Input {
  std::string name = {};  // default: "x0", "x1" …
  Dims shape = {};        // default: one axis; none for a single value
  Values values = {};
  bool differentiable = true;  // false: indices or masks, never changed by the check
  bool tangent = false;        // a step on a manifold; it is 0, but not a special point
};

/// inputs → output, row-major. It is called many times and must have no side effects.
using Forward = std::function<Values(const Arguments&)>;

/// inputs, dy → one gradient per input, of the same size. The gradient of an input that is not
/// differentiable may be empty.
using Derivative = std::function<Arguments(const Arguments&, const Values& dy)>;

/// Returns the gradient buffers after a call in which they first contained `start`.
using DerivativeInto =
    std::function<Arguments(const Arguments&, const Values& dy, const Arguments& start)>;

/// The functions to check. `forward` and one of `vjp` and `into` are required.
struct Functions {
  Forward forward;
  Derivative vjp;
  DerivativeInto into = {};  // a derivative that writes to the caller's buffers
  bool accumulates = false;  // `into` adds to its buffers
  bool linear = false;       // vjp multiplies by a given matrix, so it is always linear in dy
  std::function<Dims()> shape = {};  // of the output; called after the first forward
  Forward reference = {};            // forward in double, if forward itself computes in float
  double ulp = std::numeric_limits<double>::epsilon();  // machine epsilon of both functions
};

enum class Mode {
  automatic,   // full for at most 256 outputs, 2048 elements and 1e5 pairs
  full,        // every input element against every output element
  projections  // a sample of both, weighted sums of all outputs, directions of all elements
};

/// Options for plain arrays. check::Options of gradients.h are converted to these.
struct RawOptions {
  Mode mode = Mode::automatic;
  std::uint64_t seed = 0x5eed;
  double rtol = 1e-7;        // see Tolerance
  double atol = 1e-9;        // relative to the largest derivative with respect to that element
  double resolution = 0;     // > 0: the accuracy to check, with steps that suit the noise of f
  int projections = 3;       // weighted sums of all outputs; in a sample, also directions
  std::size_t rows = 16;     // sampled outputs in Mode::projections
  std::size_t columns = 64;  // sampled elements of each input in Mode::projections
  std::size_t findings = 3;  // listed per input; the counts include all
  Dims output_shape = {};    // for the report; default: one axis
  Values upstream = {};      // an additional upstream gradient
  std::vector<Kink> kinks = {};
  double seconds = 0;  // > 0: time limit for moving elements one by one
  int threads = 1;     // number of threads that may call forward concurrently; 0: one per core
  bool neighborhood = true;  // near points that hide mistakes, also check a neighbor

  Tolerance tolerance() const {
    Tolerance result;
    result.rtol = std::max(rtol, resolution);
    result.atol = std::max(atol, resolution);
    if (resolution > 0) result.seen = result.floor = resolution;
    result.exact = resolution == 0;
    return result;
  }
};

/// The check was misused.
class BadInput : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// A function under test wrote to memory that it must not change.
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
      throw BadInput(which + "; an axis cannot be negative");
    if (count_of(input.shape) != input.values.size())
      throw BadInput(joined(which, ", which takes ", count_of(input.shape), " values, but ",
                            input.values.size(), " were given"));
  }
  if (std::any_of(inputs.begin(), inputs.end(), [](const Input& i) { return i.differentiable; }))
    return inputs;
  throw BadInput(joined(name, ": none of the ", inputs.size(),
                        " inputs is differentiable, so there is nothing to check. Pass an input "
                        "with differentiable = true"));
}

}  // namespace gradus::check
