#pragma once

#include <functional>
#include <string>
#include <vector>

namespace gradus::examples {

/// Returns the sorted paths of non-empty files in a directory tree for which `wanted` is true.
/// Skips hidden folders, build/ and runs/. Returns nothing if `folder` does not exist.
std::vector<std::string> files_below(const std::string& folder,
                                     const std::function<bool(const std::string& path)>& wanted);

}  // namespace gradus::examples
