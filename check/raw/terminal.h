// Does a stream write to a terminal? The standard library cannot say; systems that can have unistd.h.
#pragma once

#include <cstdlib>
#include <iostream>
#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace gradus::check::core {

inline bool in_colour([[maybe_unused]] const std::ostream& out) {
#if __has_include(<unistd.h>)
  if (std::getenv("NO_COLOR") != nullptr) return false;
  if (out.rdbuf() == std::cout.rdbuf()) return isatty(STDOUT_FILENO) == 1;
  if (out.rdbuf() == std::cerr.rdbuf()) return isatty(STDERR_FILENO) == 1;
#endif
  return false;
}

}  // namespace gradus::check::core
