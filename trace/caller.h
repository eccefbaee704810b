// Whose code called: the first call outside of the library.
#pragma once

#include <string>
#include <vector>

#include "gradus/engine/base/platform.h"

namespace gradus::trace {

bool is_component(const std::string& folder);  // one of the library's: "ops"

/// "train.cpp:42", the innermost place that is in none of the library's components and not
/// the standard library's. Where that was built without debug information: "step(Model&) (its line
/// is known if it is built with -g, as cmake --preset debug does)". "" where nothing is known.
std::string caller_among(const std::vector<platform::Frame>& frames);

/// The same of calls(). Asks addr2line: about a second.
std::string caller_of(const std::vector<void*>& calls);

}  // namespace gradus::trace
