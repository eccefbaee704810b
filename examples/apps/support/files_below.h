// Files in a directory tree.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace gradus::examples {

/// Returns sorted paths of non-empty files for which `wanted` is true. Skips hidden folders, build/
/// and runs/. Empty if `folder` does not exist.
std::vector<std::string> files_below(const std::string& folder,
                                     const std::function<bool(const std::string& path)>& wanted);

}  // namespace gradus::examples
