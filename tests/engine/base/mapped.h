// Reads the size of this process's mapped address space (Linux only).
#pragma once

#ifdef __linux__
#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace gradus::tests {

inline std::size_t mapped_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace gradus::tests
#endif
