// Replaces engine/base/memory.cpp. Adds guards around blocks and fills memory with NaN, to detect
// loops that run one element too far.
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/memory.h"
#include "gradus/tests/mutation/cases.h"

namespace gradus {
namespace {

constexpr std::size_t kGuard = memory::kAlignment;
constexpr int kGuardByte = 0xFD;

memory::Usage counted{};
std::int64_t limit = 0;
bool overrun = false;

std::size_t padded(std::size_t bytes) { return (bytes + kGuard - 1) / kGuard * kGuard; }

bool is_guard(const unsigned char* from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    if (from[i] != kGuardByte) return false;
  return true;
}

}  // namespace

namespace memory {

void* allocate(std::size_t bytes) {
  const std::size_t total = bytes + static_cast<std::size_t>(counted.live_bytes);
  require<MemoryError>(limit == 0 || total <= static_cast<std::size_t>(limit),
                       "out of memory: ", bytes, " bytes requested with ", counted.live_bytes,
                       " live; the limit is ", limit);
  const std::size_t whole = bytes < (std::size_t{1} << 32) ? 2 * kGuard + padded(bytes) : 0;
  auto* block = static_cast<unsigned char*>(whole ? std::aligned_alloc(kGuard, whole) : nullptr);
  require<MemoryError>(block != nullptr, "out of memory: ", bytes, " bytes requested");
  std::memset(block, kGuardByte, whole);
  std::memset(block + kGuard, 0xFF, bytes);
  counted.live_bytes += static_cast<std::int64_t>(bytes);
  counted.peak_bytes = std::max(counted.peak_bytes, counted.live_bytes);
  counted.reserved_bytes = counted.peak_bytes;
  return block + kGuard;
}

void release(void* data, std::size_t bytes) noexcept {
  auto* block = static_cast<unsigned char*>(data) - kGuard;
  const std::size_t after = kGuard + padded(bytes) - bytes;
  if (!is_guard(block, kGuard) || !is_guard(block + kGuard + bytes, after)) overrun = true;
  std::memset(block, 0xFF, 2 * kGuard + padded(bytes));
  std::free(block);
  counted.live_bytes -= static_cast<std::int64_t>(bytes);
}

Usage usage() { return counted; }
void reset_peak() { counted.peak_bytes = counted.live_bytes; }
void release_cached() {}
void set_limit(std::int64_t bytes) { limit = bytes; }
bool set_poison(bool on) {  // memory is always poisoned
  static std::atomic<bool> now{false};
  return now.exchange(on);
}

}  // namespace memory

bool mutation::memory_was_overrun() { return overrun; }

}  // namespace gradus
