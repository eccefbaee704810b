// All code that depends on the operating system.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace gradus::platform {

/// Maps zeroed pages, as huge pages if possible. Returns nullptr if out of memory.
void* map_pages(std::size_t bytes);
void unmap_pages(void* pages, std::size_t bytes) noexcept;
/// Returns the bytes that this process may use, or 0 if unknown: the minimum over the machine,
/// cgroup and RLIMIT_AS. `root` is the parent directory of /proc and /sys.
std::size_t physical_memory(const std::string& root = "");

/// Returns the number of physical cores within the affinity mask and cgroup quota. At least 1.
/// `root` as in physical_memory().
int usable_cores(const std::string& root = "");

/// Returns a function of any loaded library by name (openblas_set_num_threads …), or nullptr.
void* find_symbol(const char* name);

/// Returns for example "Linux 6.1.0 x86_64".
std::string system_name();

/// Demangles typeid(x).name() or a function name, for example to "gradus::nn::Linear".
std::string demangle(const char* mangled);

/// Returns the resident memory in bytes: current, and peak.
std::size_t resident_bytes();
std::size_t peak_resident_bytes();

bool is_terminal(std::FILE* file);
/// Writes flushed data to disk. Returns false and sets errno on failure.
bool sync_file(std::FILE* file);

/// Returns the calling functions' addresses, innermost first, or null pointers if unsupported.
std::vector<void*> stack_trace();

struct Frame {
  std::string function, file;  // mangled; "??" if unknown
  long line;                   // 0 without debug information
};

/// Finds the frames of each call with addr2line, inlined functions first. Returns an empty list
/// without addr2line. Takes tenths of a second. Accepts at most 4,000 calls.
std::vector<std::vector<Frame>> symbolize(const std::vector<void*>& calls);

}  // namespace gradus::platform
