#pragma once

#include <string>
#include <vector>

#include "gradus/engine/base/platform.h"

namespace gradus::trace {

bool is_component(const std::string& folder);  // true for a folder of the library, such as "ops"

/// Returns the innermost frame outside the library: "train.cpp:42", the function name if built
/// without -g, or "" if unknown.
std::string caller_among(const std::vector<platform::Frame>& frames);

/// Like caller_among, for a stack trace. Calls addr2line, which takes about a second.
std::string caller_of(const std::vector<void*>& calls);

}  // namespace gradus::trace
