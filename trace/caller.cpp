#include "gradus/trace/caller.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <iterator>

#include "gradus/engine/base/error.h"

namespace gradus::trace {
namespace {

bool starts_with_any(const std::string& x, std::initializer_list<const char*> starts) {
  return std::any_of(starts.begin(), starts.end(), [&](const char* s) { return x.starts_with(s); });
}

bool is_library(const std::string& mangled) {
  return starts_with_any(mangled, {"_ZN6gradus", "_ZNK6gradus", "_ZZN6gradus", "_ZZNK6gradus"});
}

bool is_standard(const std::string& mangled) {
  return starts_with_any(mangled, {"_ZNSt", "_ZNKSt", "_ZSt", "_ZN9__gnu_cxx"});
}

/// True for sources and installed headers of the library. A user's folder may have the same name,
/// so the function must also belong to the library.
bool is_ours(const std::filesystem::path& file, const std::string& function) {
  const bool named_so = is_library(function) || (!function.starts_with("_Z") && function != "main");
  const std::filesystem::path folder = file.parent_path();
  return (is_component(folder.filename()) && named_so) ||
         (is_component(folder.parent_path().filename()) && is_library(function)) ||
         file.string().find("/include/gradus/") != std::string::npos ||
         file.string().find("/include/c++/") != std::string::npos ||
         starts_with_any(file, {"/usr/include/", "/usr/lib/"});
}

}  // namespace

bool is_component(const std::string& folder) {
  constexpr const char* kComponents[] = {"base",  "engine", "ops",   "nn",   "models",
                                         "check", "io",     "trace", "train"};
  return std::find(std::begin(kComponents), std::end(kComponents), folder) != std::end(kComponents);
}

std::string caller_among(const std::vector<platform::Frame>& frames) {
  for (const platform::Frame& frame : frames) {
    const std::string& function = frame.function;
    if (frame.line > 0) {
      const auto file = std::filesystem::path(frame.file).lexically_normal();
      if (!is_ours(file, function)) return str_cat(file.string(), ":", frame.line);
    } else if (function == "main" ||
               (function.starts_with("_Z") && !is_library(function) && !is_standard(function))) {
      return platform::demangle(function.c_str()) +
             " (build with -g, as cmake --preset debug does, for its line)";
    }
  }
  return "";
}

std::string caller_of(const std::vector<void*>& calls) {
  for (const std::vector<platform::Frame>& frames : platform::symbolize(calls))
    if (std::string caller = caller_among(frames); !caller.empty()) return caller;
  return "";
}

}  // namespace gradus::trace
