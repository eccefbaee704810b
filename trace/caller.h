// Finds the first caller outside the library.
#pragma once

#include <string>
#include <vector>

#include "gradus/engine/base/platform.h"

namespace gradus::trace {

bool is_component(const std::string& folder);  // a folder of the library: "ops"

/// The innermost frame outside the library and the standard library, as "train.cpp:42". Without
/// debug information: "step(Model&) (its line is known if …)". "" if unknown.
std::string caller_among(const std::vector<platform::Frame>& frames);

/// The same for a stack trace. Calls addr2line, which takes about a second.
std::string caller_of(const std::vector<void*>& calls);

}  // namespace gradus::trace
