// Wrong gradients of a sample, made from right ones.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gradus/tests/support/oracle.h"

namespace gradus::testing {

/// The elements of a wanted input among those of all.
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

/// A wrong gradient, or nothing where the fault would not be one.
using Falsified = std::optional<Numbers>;
struct Fault {
  std::string what;  // "samples of … cannot see that …"
  const char* cure;  // "add one with …"
  std::function<Falsified(const Graded&)> make;
};

std::vector<Fault> faults();
/// Input k gets no gradient.
Fault dropped(std::size_t k);

}  // namespace gradus::testing
