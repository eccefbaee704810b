// Everything that depends on the operating system.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace gradus::platform {

/// Maps zeroed pages, huge ones if possible. Returns nullptr if out of memory.
void* map_pages(std::size_t bytes);
void unmap_pages(void* pages, std::size_t bytes) noexcept;
/// Returns the bytes this process may use, by the machine, cgroup and RLIMIT_AS. 0 if unknown.
/// `root` is the parent of /proc and /sys.
std::size_t physical_memory(const std::string& root = "");

/// Returns the physical cores within the affinity mask and cgroup quota. At least 1. `root` as
/// above.
int usable_cores(const std::string& root = "");

/// Looks up a function of any loaded library by name (openblas_set_num_threads …). nullptr if
/// absent.
void* find_symbol(const char* name);

/// Example: "Linux 6.1.0 x86_64".
std::string system_name();

/// Demangles typeid(x).name() or a function name: "gradus::nn::Linear".
std::string demangle(const char* mangled);

/// Resident bytes: current and peak.
std::size_t resident_bytes();
std::size_t peak_resident_bytes();

bool is_terminal(std::FILE* file);
/// Writes flushed data to disk. Returns false and sets errno on failure.
bool sync_file(std::FILE* file);

/// Returns the calling functions' addresses, innermost first. Null pointers if unsupported.
std::vector<void*> stack_trace();

struct Frame {
  std::string function, file;  // mangled; "??" if unknown
  long line;                   // 0 without debug information
};

/// Finds the frames of each call with addr2line, inlined functions first. Empty without addr2line.
/// Takes a few tenths of a second. At most 4,000 calls.
std::vector<std::vector<Frame>> symbolize(const std::vector<void*>& calls);

}  // namespace gradus::platform
