// Hints in three steps, from the derivation of the operation's gradient.
#pragma once

#include <string>

namespace gradus::exercises {

/// 1: forward, and the definition from which the gradient follows. 2: the reasons of all steps, in
/// words. 3: the derivation. Empty for a name that has none, and for another level.
std::string hint(const std::string& name, int level);

}  // namespace gradus::exercises
