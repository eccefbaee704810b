// Finds the ops of a training step whose derivatives are wrong.
//
//   std::cout << check::graph([&] { return model.loss(x, y); }, {.seconds = 5});
#pragma once

#include <cstdint>
#include <functional>

#include "gradus/check/gradients.h"

namespace gradus::check {

/// Time limit and tolerances of graph().
struct GraphOptions {
  double seconds = 5;           // time limit
  double rtol = 1e-6;           // relative to the derivative
  double atol = 1e-8;           // relative to the element's largest derivative
  std::uint64_t seed = 0x5eed;  // seed of upstream gradients and directions
};

/// Calls loss twice, then checks each op of the second graph in f64 at the inputs of that step,
/// once per combination of op and shapes. A finding states the op, its layer, the calling line, and
/// the element. Use of a result of the first step that is not detached is a finding too. Ops that
/// cannot run in f64, or that exceed the time limit, are listed and prevent a PASS. Throws
/// ValueError if loss is undefined, and GraphError if nothing was recorded.
Report graph(const std::function<Tensor()>& loss, const GraphOptions& options = {},
             SourceLine place = SourceLine::current());

}  // namespace gradus::check
