// Small blocks come from large regions, with one free list per size class. Each block above 4 MiB
// has its own mapping, which is reused for similar sizes. Mappings return to the system on request
// or when memory is short. Regions consist of huge pages and are never returned.
#include "gradus/engine/base/memory.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/platform.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
constexpr bool kPooled = false;  // the sanitizer's operator new detects overruns
#else
constexpr bool kPooled = true;
#endif

namespace gradus::memory {
namespace {

constexpr std::size_t kRegion = std::size_t{32} << 20;  // only touched pages are resident
constexpr std::size_t kBig = std::size_t{4} << 20;
// The address space of a process: 47 bits, or 31 on 32-bit systems.
constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() >>
                              (sizeof(void*) == 8 ? 17 : 1);

// Size classes: 64, 128 … 512 bytes, then eight per octave: 576, 640 … 1024, 1152 …
std::size_t size_class(std::size_t bytes) {
  if (bytes <= 512) return bytes == 0 ? 0 : (bytes - 1) / 64;
  const auto octave = static_cast<std::size_t>(std::bit_width(bytes)) - 10;
  return 8 * (octave + 1) + ((bytes - 1) >> (octave + 6)) - 8;
}
constexpr std::size_t class_bytes(std::size_t c) {
  return c < 8 ? 64 * (c + 1) : (9 + c % 8) << (c / 8 + 5);
}
constexpr std::size_t kSmallClasses = 112;
static_assert(class_bytes(kSmallClasses - 1) == kBig);

struct Free {
  Free* next;
};  // header of a free small block
struct Big {
  char* data;
  std::size_t bytes;
  bool free;
};

/// The reason why an allocation failed. Thrown after the pool is unlocked, because the message may
/// allocate.
struct Refusal {
  const char* reason = nullptr;
  std::int64_t most = 0;
  std::int64_t live = 0;
};

struct Pool {
  std::atomic_flag busy;  // spin lock; system calls rarely run under it
  Usage usage{};
  bool poison = false;
  Free* lists[kSmallClasses] = {};
  char* fresh = nullptr;
  std::size_t fresh_bytes = 0;
  std::vector<Big> bigs;

  void lock() {
    while (busy.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  void unlock() { busy.clear(std::memory_order_release); }

  Refusal check(std::size_t bytes, std::int64_t machine) const {
    const std::int64_t live = usage.live_bytes;
    if (bytes > kMost) return {"a process can address ", static_cast<std::int64_t>(kMost), live};
    const std::int64_t total = static_cast<std::int64_t>(bytes) + live;
    if (total > usage.limit_bytes) return {"the limit is ", usage.limit_bytes, live};
    if (machine > 0 && total > machine) return {"the machine has ", machine, live};
    return {};
  }

  /// Maps pages. Returns null if out of memory. At the limit, frees cached mappings first.
  char* map(std::size_t bytes) {
    const auto more = static_cast<std::int64_t>(bytes);
    if (usage.reserved_bytes > usage.limit_bytes - more) trim();
    void* pages = platform::map_pages(bytes);
    if (pages == nullptr) {
      trim();
      pages = platform::map_pages(bytes);
    }
    if (pages != nullptr) usage.reserved_bytes += more;
    return static_cast<char*>(pages);
  }

  void* take_small(std::size_t c) {
    if (Free* block = lists[c]) {
      lists[c] = block->next;
      return block;
    }
    const std::size_t bytes = class_bytes(c);
    if (fresh_bytes < bytes) {
      char* const region = map(kRegion);
      if (region == nullptr) return nullptr;
      fresh = region;
      fresh_bytes = kRegion;
    }
    fresh_bytes -= bytes;
    return std::exchange(fresh, fresh + bytes);
  }

  // Returns the smallest free mapping of `bytes` to 1.25 · `bytes`, or a new mapping.
  void* take_big(std::size_t bytes) {
    Big* best = nullptr;
    for (Big& big : bigs)
      if (big.free && big.bytes >= bytes && big.bytes - bytes <= bytes / 4)
        if (best == nullptr || big.bytes < best->bytes) best = &big;
    if (best == nullptr) {
      // Reserve space before map(), so that nothing can fail after it.
      if (bigs.size() == bigs.capacity()) bigs.reserve(2 * bigs.size() + 16);
      const std::size_t rounded = class_bytes(size_class(bytes));
      char* const pages = map(rounded);
      if (pages == nullptr) return nullptr;
      best = &bigs.emplace_back(Big{pages, rounded, true});
    }
    best->free = false;
    return best->data;
  }

  void trim() {
    std::erase_if(bigs, [this](const Big& big) {
      if (!big.free) return false;
      platform::unmap_pages(big.data, big.bytes);
      usage.reserved_bytes -= static_cast<std::int64_t>(big.bytes);
      return true;
    });
  }
};

// Never destroyed, because static tensors are released after all other objects.
Pool& pool() {
  static Pool& only = *[] {
    // A forked child has no other thread that could unlock the pool.
    const auto unlock = [] { pool().unlock(); };
    pthread_atfork([] { pool().lock(); }, unlock, unlock);
    return new Pool;
  }();
  return only;
}

std::int64_t machine_bytes() {
  static const auto bytes = static_cast<std::int64_t>(platform::physical_memory());
  return bytes;
}

// The pool is constructed before main(), because a child forked during its construction would wait
// forever.
[[maybe_unused]] const bool made = (pool(), machine_bytes(), true);

struct Locked {
  Locked() { pool().lock(); }
  ~Locked() { pool().unlock(); }
  Pool* operator->() const { return &pool(); }
};

}  // namespace

void* allocate(std::size_t bytes) {
  void* data = nullptr;
  Refusal refusal;
  bool poison = false;
  {
    const Locked p;
    refusal = p->check(bytes, machine_bytes());
    if (!refusal.reason)
      data = !kPooled       ? ::operator new (bytes, std::align_val_t{kAlignment}, std::nothrow)
             : bytes > kBig ? p->take_big(bytes)
                            : p->take_small(size_class(bytes));
    if (data != nullptr) {
      p->usage.live_bytes += static_cast<std::int64_t>(bytes);
      p->usage.peak_bytes = std::max(p->usage.peak_bytes, p->usage.live_bytes);
      poison = p->poison;
    } else if (!refusal.reason) {
      refusal = {"the system has no more memory", 0, p->usage.live_bytes};
    }
  }
  if (data == nullptr)
    fail<MemoryError>("out of memory: ", bytes, " bytes requested with ", refusal.live, " live; ",
                      refusal.reason, refusal.most > 0 ? std::to_string(refusal.most) : "",
                      ". Use a smaller batch, shorter sequences, checkpointing or no_grad, or ",
                      "raise the limit with memory::set_limit.");
  return poison ? std::memset(data, 0xFF, bytes) : data;
}

void release(void* data, std::size_t bytes) noexcept {
  const Locked p;
  p->usage.live_bytes -= static_cast<std::int64_t>(bytes);
  if (!kPooled) return ::operator delete (data, std::align_val_t{kAlignment});
  if (bytes > kBig) {
    const auto owns = [data](const Big& big) { return big.data == data; };
    std::find_if(p->bigs.begin(), p->bigs.end(), owns)->free = true;
  } else {
    Free*& list = p->lists[size_class(bytes)];
    list = new (data) Free{list};
  }
}

Usage usage() { return Locked()->usage; }

void reset_peak() {
  const Locked p;
  p->usage.peak_bytes = p->usage.live_bytes;
}

void release_cached() { Locked()->trim(); }

void set_limit(std::int64_t bytes) {
  require(bytes >= 0, "memory::set_limit: bytes must be at least 0 (no limit), got ", bytes);
  Locked()->usage.limit_bytes = bytes > 0 ? bytes : Usage{}.limit_bytes;
}

bool set_poison(bool on) { return std::exchange(Locked()->poison, on); }

}  // namespace gradus::memory
