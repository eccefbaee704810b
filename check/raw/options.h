// What a check is given: inputs, functions as functions of numbers, and options. `completed` checks
// the inputs; a check that is called wrongly throws BadInput.
#pragma once

#include <functional>
#include <stdexcept>

#include "gradus/check/raw/kinks.h"
#include "gradus/check/raw/words.h"

namespace gradus::check {

/// One argument of the function under test, row-major.
struct Input {
  std::string name = {};  // empty: "x0", "x1" …
  Dims shape = {};        // empty: one axis; for a single value none
  Values values = {};
  bool differentiable = true;  // false: indices, masks; never changed by the check
  bool tangent = false;        // of steps on a manifold: that they are zeros is nothing special
};

/// inputs → output, row-major. Without side effects: it is called many times.
using Forward = std::function<Values(const Arguments&)>;

/// inputs, dy → one gradient per input, as large as the input (for one that is not differentiable
/// it may be empty).
using Derivative = std::function<Arguments(const Arguments&, const Values& dy)>;

/// The gradients' buffers as they are after a call that found `start` in them.
using DerivativeInto =
    std::function<Arguments(const Arguments&, const Values& dy, const Arguments& start)>;

/// The functions to check: `forward`, and `vjp` or `into`; the others are optional.
struct Functions {
  Forward forward;
  Derivative vjp;
  DerivativeInto into = {};  // a derivative that writes to buffers of the caller
  bool accumulates = false;  // `into` adds to what it finds
  bool linear = false;       // vjp multiplies by a matrix that was given: it cannot but be linear
  std::function<Dims()> shape = {};  // of the output, asked after the first call of forward
  Forward reference = {};            // forward in double, where forward itself computes in float
  double ulp = std::numeric_limits<double>::epsilon();  // of the arithmetic of both functions
};

enum class Mode {
  automatic,   // full where there are at most 256 outputs, 2048 elements, 1e5 pairs of them
  full,        // every input element against every output element
  projections  // a sample of both, weighted sums of all outputs, directions of all elements
};

/// How plain arrays are compared; the tensors' options (gradients.h) are turned into these.
struct RawOptions {
  Mode mode = Mode::automatic;
  std::uint64_t seed = 0x5eed;
  double rtol = 1e-7;     // see Tolerance
  double atol = 1e-9;     // relative to the largest derivative by that element
  double resolution = 0;  // > 0: compare to this share alone, with steps that suit the noise
  int projections = 3;    // weighted sums of all outputs, in every mode; directions, where sampled
  std::size_t rows = 16;  // outputs sampled in Mode::projections
  std::size_t columns = 64;  // elements of an input, likewise
  std::size_t findings = 3;  // shown for each input; the counts count all
  Dims output_shape = {};    // for the report; empty: one axis
  Values upstream = {};      // one more weighted sum of the outputs: the caller's own dy
  std::vector<Kink> kinks = {};
  double seconds = 0;  // > 0: elements are looked at one by one while there is time
  int threads = 1;     // that call forward at the same time, if it allows that; 0: all there are
  bool neighborhood = true;  // near points that hide mistakes, checks others too

  Tolerance tolerance() const {
    Tolerance result;
    result.rtol = std::max(rtol, resolution);
    result.atol = std::max(atol, resolution);
    if (resolution > 0) result.seen = result.floor = resolution;
    result.exact = resolution == 0;
    return result;
  }
};

/// The check itself was called wrongly.
class BadInput : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// A function under test did damage: it wrote where it must not.
class Damage : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Fills in names and shapes; throws BadInput where a shape and its values disagree, and where
/// there is nothing to differentiate by.
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
