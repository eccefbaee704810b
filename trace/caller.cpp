#include "gradus/trace/caller.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <iterator>

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

/// A component's source, or a header of ours or of the system. Only our functions can be in one, as
/// a user may have a directory of that name; of some inlined ones the plain name is known alone.
bool is_ours(const std::filesystem::path& file, const std::string& function) {
  constexpr const char* kComponents[] = {"base",  "engine", "ops",   "nn",   "models",
                                         "check", "io",     "trace", "train"};
  const std::string component = file.parent_path().filename();
  const bool in_library =
      std::find(std::begin(kComponents), std::end(kComponents), component) != std::end(kComponents);
  const bool named_so = is_library(function) || (!function.starts_with("_Z") && function != "main");
  return (in_library && named_so) || file.string().find("/include/gradus/") != std::string::npos ||
         file.string().find("/include/c++/") != std::string::npos ||
         starts_with_any(file, {"/usr/include/", "/usr/lib/"});
}

}  // namespace

std::string caller_among(const std::vector<platform::Frame>& frames) {
  for (const platform::Frame& frame : frames) {
    const std::string& function = frame.function;
    const std::string place = frame.place.substr(0, frame.place.find(" ("));  // (discriminator 2)
    const auto colon = std::min(place.rfind(':'), place.size());
    const std::string line = place.substr(colon);
    if (line != ":0" && line != ":?") {
      const auto file = std::filesystem::path(place.substr(0, colon)).lexically_normal();
      if (!is_ours(file, function)) return file.string() + line;
    } else if (function == "main" ||
               (function.starts_with("_Z") && !is_library(function) && !is_standard(function))) {
      return platform::readable_type(function.c_str()) +
             " (its line is known if it is built with -g, as cmake --preset debug does)";
    }
  }
  return "";
}

std::string caller_of(const std::vector<void*>& calls) {
  for (const std::vector<platform::Frame>& frames : platform::frames_of(calls))
    if (std::string caller = caller_among(frames); !caller.empty()) return caller;
  return "";
}

}  // namespace gradus::trace
