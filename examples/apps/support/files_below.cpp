#include "files_below.h"

#include <algorithm>
#include <filesystem>

namespace gradus::examples {

std::vector<std::string> files_below(const std::string& folder,
                                     const std::function<bool(const std::string& path)>& wanted) {
  std::vector<std::string> files;
  std::error_code none;
  for (std::filesystem::recursive_directory_iterator at(folder, none), end; at != end; ++at) {
    const std::string name = at->path().filename().string();
    const bool skipped = name.starts_with('.') || name == "build" || name == "runs";
    if (at->is_directory() && skipped) at.disable_recursion_pending();
    if (at->is_regular_file() && at->file_size() > 0 && wanted(at->path().string()))
      files.push_back(at->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace gradus::examples
