// The files of a tree.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace gradus::examples {

/// Paths of the files below `folder` that hold something and that `wanted` takes, sorted. Hidden
/// folders, build/ and runs/ are left out; a folder that does not exist has none.
std::vector<std::string> files_below(const std::string& folder,
                                     const std::function<bool(const std::string& path)>& wanted);

}  // namespace gradus::examples
