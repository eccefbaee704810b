// What a check is given: inputs, functions, options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "gradus/check/raw/differences.h"
#include "gradus/check/raw/report.h"
#include "gradus/check/raw/verdict.h"

namespace gradus::check::raw {

/// One argument of the function under test, row-major.
struct Input {
  std::string name = {};                 // empty: "x0", "x1" …
  std::vector<std::int64_t> shape = {};  // empty: one axis; for a single value none
  Values values = {};
  bool differentiable = true;            // false: indices, masks; never changed by the check
};

/// The values of all inputs, in order.
using Arguments = std::vector<Values>;

/// inputs → output, row-major. Without effects: it is called many times.
using Forward = std::function<Values(const Arguments&)>;

/// inputs, dy → one gradient per input, as large as the input (for one that is not differentiable
/// it may be empty).
using Vjp = std::function<Arguments(const Arguments&, const Values& dy)>;

enum class Mode {
  automatic,   // full where the output has at most 64 elements and the Jacobian at most 1e6
  full,        // every input element against every output element
  projections  // a sample of output elements, and weighted sums of all of them
};

struct Options {
  Mode mode = Mode::automatic;
  std::uint64_t seed = 0x5eed;
  double rtol = 1e-7;       // see Tolerance
  double atol = 1e-9;       // relative to the largest derivative of that input
  int projections = 3;      // weighted sums of all outputs, in every mode
  int rows = 16;            // outputs sampled in Mode::projections
  Steps steps = {};
  std::size_t findings = 3; // shown for each input; the counts count all
  std::vector<std::int64_t> output_shape = {};  // for the report; empty: one axis

  Tolerance tolerance() const {
    Tolerance result;
    result.rtol = rtol;
    result.atol = atol;
    return result;
  }
};

/// The check itself was called wrongly.
class BadInput : public std::invalid_argument { using std::invalid_argument::invalid_argument; };

inline std::int64_t count_of(const std::vector<std::int64_t>& shape) {
  std::int64_t result = 1;
  for (std::int64_t n : shape) result *= n;
  return result;
}

/// Row-major: element 7 of [2,5] is [1,2].
inline std::vector<std::int64_t> place(std::int64_t element,
                                       const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> result(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    result[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return result;
}

/// Fills in names and shapes; throws BadInput where a shape and its values disagree, and where
/// there is nothing to differentiate by.
inline std::vector<Input> completed(const std::string& name, std::vector<Input> inputs) {
  bool any = false;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    Input& input = inputs[k];
    const auto size = static_cast<std::int64_t>(input.values.size());
    if (input.name.empty()) input.name = "x" + std::to_string(k);
    if (input.shape.empty() && size != 1) input.shape = {size};
    for (std::int64_t n : input.shape) {
      if (n >= 0) continue;
      throw BadInput(name + ": input '" + input.name + "' has the shape " + list(input.shape) +
                     "; an axis cannot be negative");
    }
    if (count_of(input.shape) != size) {
      throw BadInput(name + ": input '" + input.name + "' has the shape " + list(input.shape) +
                     ", which takes " + std::to_string(count_of(input.shape)) + " values, but " +
                     std::to_string(size) + " were given");
    }
    any = any || input.differentiable;
  }
  if (any) return inputs;
  throw BadInput(name + ": none of the " + std::to_string(inputs.size()) +
                 " inputs is differentiable, so there is nothing to check. Pass an input with "
                 "differentiable = true");
}

}  // namespace gradus::check::raw
