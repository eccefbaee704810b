// What differs between operating systems, and nothing else. Linux first.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace gradus::platform {

/// Fresh zeroed pages, huge ones where the system grants them; nullptr when it has none.
void* map_pages(std::size_t bytes);
void unmap_pages(void* pages, std::size_t bytes) noexcept;
/// Bytes of the machine, or fewer where a control group, or RLIMIT_AS less what is mapped already,
/// grants no more; 0 if unknown. `root` is what /proc and /sys are in.
std::size_t physical_memory(const std::string& root = "");

/// Physical cores within this process's affinity mask and cgroup quota; at least 1. /proc and /sys
/// are in `root`.
int usable_cores(const std::string& root = "");

/// A function of some loaded library by name (openblas_set_num_threads …), or nullptr.
void* find_symbol(const char* name);

/// "Linux 6.1.0 x86_64"
std::string system_name();

/// "gradus::nn::Linear" from what typeid(x).name() says, or from a mangled function.
std::string demangle(const char* mangled);

/// Resident bytes now and at their highest.
std::size_t resident_bytes();
std::size_t peak_resident_bytes();

bool is_terminal(std::FILE* file);
/// What was written and flushed is on the disk; false: errno says why.
bool sync_file(std::FILE* file);

/// The calls that led here, innermost first; null pointers where the system cannot tell.
std::vector<void*> stack_trace();

struct Frame {
  std::string function, file;  // mangled; "??" where it is not known
  long line;                   // 0 without debug information
};

/// What addr2line, which comes with compilers, knows of each call: innermost what was inlined
/// there. Empty where it is not installed. Takes some tenths of a second; at most 4,000 calls at a
/// time.
std::vector<std::vector<Frame>> symbolize(const std::vector<void*>& calls);

}  // namespace gradus::platform
