// Finds the first caller outside the library.
#pragma once

#include <string>
#include <vector>

#include "gradus/engine/base/platform.h"

namespace gradus::trace {

bool is_component(const std::string& folder);  // a folder of the library, as "ops"

/// The innermost frame outside the library, as "train.cpp:42"; its function if built without -g; ""
/// if unknown.
std::string caller_among(const std::vector<platform::Frame>& frames);

/// The same for a stack trace. Calls addr2line (about a second).
std::string caller_of(const std::vector<void*>& calls);

}  // namespace gradus::trace
