// An application in a process of its own, within bounds of time and memory.
#pragma once

#include <string>
#include <vector>

#include "gradus/tests/examples/applications.h"
#include "gradus/tests/support/sanitizers.h"

namespace gradus::testing {

// Under a sanitizer memory and time are the sanitizer's.
inline constexpr bool kMeasured = !kAddressSanitizer && !kThreadSanitizer;

struct Ended {
  int code;          // 128 + n where signal n ended it
  double seconds;    // of processors
  double megabytes;  // resident, at its highest; 0 where a signal ended it
  std::string err;
};

/// Runs an application in `here` with these words. With a limit, in bytes for memory::set_limit,
/// one that is still at work after a while gets Ctrl-C, again and again.
Ended run_subprocess(const Application& app, const Workplace& here,
                     const std::vector<std::string>& words, std::int64_t limit = 0);

inline std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

}  // namespace gradus::testing
