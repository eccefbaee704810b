// Derives faulty gradients of a sample from its correct ones.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gradus/tests/support/oracle.h"

namespace gradus::testing {

/// The range of one input among the elements of all differentiable inputs.
struct Block {
  std::size_t first, count;
  Tensor input;
};

struct Graded {
  explicit Graded(const Sample& s);
  double slope(std::size_t output, std::size_t column) const {
    return oracle.jacobian[output * oracle.columns + column].value;
  }

  const Sample& sample;
  const Oracle& oracle;
  Shape y_shape;
  std::vector<Block> blocks;
  Numbers gradient;
};

/// Empty if the fault does not apply.
using Falsified = std::optional<Numbers>;
struct Fault {
  std::string what;  // completes "samples of … cannot detect that …"
  const char* cure;  // completes "add one with …"
  std::function<Falsified(const Graded&)> make;
};

std::vector<Fault> faults();
Fault dropped(std::size_t k);

}  // namespace gradus::testing
