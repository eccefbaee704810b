// Where tensors' numbers live: size classes over huge-page-advised regions, cached and counted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradus::memory {

inline constexpr std::size_t kAlignment = 64;  // bytes: a cache line, and the widest vector

/// At least `bytes` bytes aligned to kAlignment, not cleared (poisoned with NaN bytes under
/// set_poison). 0 bytes give a valid pointer too. MemoryError if the limit or the machine says no.
void* allocate(std::size_t bytes);
void release(void* data, std::size_t bytes) noexcept;  // the same `bytes`

/// Space for `count` numbers while it lives; counted like a tensor's.
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

struct Usage {
  std::int64_t live_bytes = 0;           // asked for by tensors that are alive
  std::int64_t peak_bytes = 0;           // the most since the start or since reset_peak()
  std::int64_t reserved_bytes = 0;       // taken from the system, in use or cached
  std::int64_t limit_bytes = INT64_MAX;  // set_limit's
};
Usage usage();          // of this process, now
void reset_peak();      // peak_bytes becomes live_bytes
void release_cached();  // gives whole free regions back to the system

/// Live bytes may not exceed it, and cached memory is given back before it does. 0: no limit.
void set_limit(std::int64_t bytes);
/// Fresh memory is filled with 0xFF: NaN in f32 and f64. Returns whether it was before.
bool set_poison(bool on);

}  // namespace gradus::memory
