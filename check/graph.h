// Finds the ops of a training step that have a wrong derivative.
//
//   std::cout << check::graph([&] { return model.loss(x, y); }, {.seconds = 5});
#pragma once

#include <cstdint>
#include <functional>

#include "gradus/check/gradients.h"

namespace gradus::check {

struct GraphOptions {
  double seconds = 5;  // total time limit; the report lists what was left out
  double rtol = 1e-6;  // relative to the derivative
  double atol = 1e-8;  // relative to the largest derivative with respect to the same element
  std::uint64_t seed = 0x5eed;
};

/// Calls loss once, with recording on, and checks each op in its graph in f64, newest first, at the
/// inputs of the step. Calls of the same op with the same shapes are checked once. A finding gives
/// the op's name, layer, calling line, and the wrong element. Ops that cannot run again in f64, or
/// for which there is no time, are listed; the verdict is then not PASS. Throws ValueError if loss
/// returns an undefined tensor, and GraphError if nothing was recorded.
Report graph(const std::function<Tensor()>& loss, const GraphOptions& options = {});

}  // namespace gradus::check
