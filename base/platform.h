// What differs between operating systems, and nothing else. Linux first.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace gradus::platform {

/// Fresh zeroed pages, huge ones where the system grants them; nullptr when it has none.
void* map_pages(std::size_t bytes);
void unmap_pages(void* pages, std::size_t bytes) noexcept;
std::size_t physical_memory();  // bytes; 0 if unknown

/// Physical cores within this process's affinity mask and cgroup quota; at least 1.
int usable_cores();

/// A function of some loaded library by name (openblas_set_num_threads …), or nullptr.
void* find_symbol(const char* name);

/// "openblas 0.3.21", "x86-64-v3", "Linux 6.1": one line each for config().
std::string instruction_set();
std::string system_name();

/// "gradus::nn::Linear" from what typeid(x).name() says.
std::string readable_type(const char* mangled);

/// Resident bytes now and at their highest.
std::size_t resident_bytes();
std::size_t peak_resident_bytes();

bool is_terminal(std::FILE* file);
/// What was written and flushed is on the disk; false: errno says why.
bool sync_file(std::FILE* file);

/// Writes `size` bytes to `path` so that a reader, a crash or a full disk sees the whole new file
/// or the whole old one: beside it, synced, renamed, directory synced. FileError: path and cause.
void write_file_atomically(const std::string& path, const void* data, std::size_t size);

}  // namespace gradus::platform
