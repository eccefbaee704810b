// Runs an application in a process with limits on time and memory.
#pragma once

#include <string>
#include <vector>

#include "gradus/tests/examples/applications.h"
#include "gradus/tests/support/sanitizers.h"

namespace gradus::testing {

// Sanitizers distort memory and time.
inline constexpr bool kMeasured = !kAddressSanitizer && !kThreadSanitizer;

struct Ended {
  int code;          // 128 + n if signal n ended the process
  double seconds;    // CPU time
  double megabytes;  // peak resident memory; 0 if a signal ended the process
  std::string err;
};

/// `limit` is for memory::set_limit. With a limit, a slow process receives Ctrl-C repeatedly.
Ended run_subprocess(const Application& app, const Workplace& here,
                     const std::vector<std::string>& words, std::int64_t limit = 0);

inline std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

}  // namespace gradus::testing
