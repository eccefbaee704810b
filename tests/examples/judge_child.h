// An application in a process of its own, within bounds of time and memory.
#pragma once

#include <string>
#include <vector>

#include "gradus/tests/examples/applications.h"

namespace gradus::testing {

struct Ended {
  int code;          // 128 + n where signal n ended it
  double seconds;    // of processors
  double megabytes;  // at its highest
  std::string err;
};

/// Runs an application in `here` with these words; `limit` bytes go to memory::set_limit, 0: none.
/// One that is still at work after a while gets Ctrl-C, again and again.
Ended run_apart(const Application& app, const Workplace& here,
                const std::vector<std::string>& words, std::int64_t limit);

inline std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

}  // namespace gradus::testing
