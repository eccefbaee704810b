// The tensor allocator.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradus::memory {

inline constexpr std::size_t kAlignment = 64;  // in bytes: one cache line

/// Returns at least `bytes` uninitialized bytes, aligned to kAlignment. Never returns null. Throws
/// MemoryError beyond the limit or the machine's memory.
void* allocate(std::size_t bytes);
void release(void* data, std::size_t bytes) noexcept;  // `bytes` as passed to allocate()

/// A temporary buffer of `count` values, counted as live memory.
template <class T>
struct Scratch {
  explicit Scratch(std::int64_t count)
      : bytes(static_cast<std::size_t>(count) * sizeof(T)),
        data(static_cast<T*>(allocate(bytes))) {}
  ~Scratch() { release(data, bytes); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::size_t bytes;
  T* data;
};

/// Byte counts of the tensor allocator.
struct Usage {
  std::int64_t live_bytes = 0;           // held by live tensors
  std::int64_t peak_bytes = 0;           // maximum since the start or reset_peak()
  std::int64_t reserved_bytes = 0;       // obtained from the system, in use or cached
  std::int64_t limit_bytes = INT64_MAX;  // set by set_limit()
};
Usage usage();          // memory usage of this process
void reset_peak();      // sets peak_bytes to live_bytes
void release_cached();  // returns free blocks above 4 MiB to the system

/// Limits live_bytes; 0 removes the limit. Near the limit, cached memory returns to the system.
void set_limit(std::int64_t bytes);
/// If on, fills new memory with 0xFF bytes (NaN in f32 and f64). Returns the old setting.
bool set_poison(bool on);
}  // namespace gradus::memory
