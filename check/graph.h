// Which operation of a real step has a wrong derivative?
//
//   std::cout << check::graph([&] { return model.loss(x, y); }, {.seconds = 5});
#pragma once

#include <cstdint>
#include <functional>

#include "gradus/check/gradients.h"

namespace gradus::check {

struct GraphOptions {
  double seconds = 5;  // for all of it; what was left out is in the report
  double rtol = 1e-6;  // of the derivative
  double atol = 1e-8;  // of the largest derivative by the same element
  std::uint64_t seed = 0x5eed;
};

/// Calls loss once, which records, and looks at the operations that its result was made by: newest
/// first, each kind with inputs of each shape once, at the inputs that it had, in f64. A finding is
/// an operation with a wrong derivative: its name, layer, the line that called it, and the element.
/// What cannot be run again in f64, or seen in the time, is named, and then the verdict is no PASS.
/// ValueError: loss gives no tensor; GraphError: nothing was recorded.
Report graph(const std::function<Tensor()>& loss, const GraphOptions& options = {});

}  // namespace gradus::check
