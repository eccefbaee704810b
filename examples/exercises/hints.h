// Three levels of hints, from the derivation of the op's gradient.
#pragma once

#include <string>

namespace gradus::exercises {

/// Level 1: the forward pass and the definition that the gradient follows from. Level 2: the reason
/// for each step, in words. Level 3: the derivation. Empty for an unknown name or level.
std::string hint(const std::string& name, int level);

}  // namespace gradus::exercises
