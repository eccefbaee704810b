// Files in a directory tree.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace gradus::examples {

/// Returns the sorted paths of the non-empty files below `folder` for which `wanted` is true. Skips
/// hidden folders, build/ and runs/. Empty if `folder` does not exist.
std::vector<std::string> files_below(const std::string& folder,
                                     const std::function<bool(const std::string& path)>& wanted);

}  // namespace gradus::examples
