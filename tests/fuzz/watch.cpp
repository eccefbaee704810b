#include "gradus/tests/fuzz/watch.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "gradus/engine/base/memory.h"
#include "gradus/io/text.h"

namespace gradus::fuzz {
namespace {

/// Bytes allocated with operator new. memory::usage() counts the values of tensors.
std::atomic<std::int64_t> live{0}, peak{0};

void count(std::int64_t bytes) {
  const std::int64_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (now > peak.load(std::memory_order_relaxed)) peak.store(now, std::memory_order_relaxed);
}

/// A single allocation above this size ends the program immediately.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (bytes > kMostAtOnce) violated(str_cat("the reader requests ", bytes, " bytes at once"));
  void* data = nullptr;
  if (posix_memalign(&data, std::max(alignment, sizeof(void*)), bytes) != 0) return nullptr;
  count(static_cast<std::int64_t>(malloc_usable_size(data)));
  return data;
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* data = allocate(bytes, alignment);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

void release(void* data) {
  if (data != nullptr) count(-static_cast<std::int64_t>(malloc_usable_size(data)));
  std::free(data);
}

}  // namespace

void violated(const std::string& what) {
  std::fprintf(stderr, "VIOLATION: %s\n", what.c_str());
  std::exit(1);
}

void check_message(std::string_view message) {
  const auto quote = [&] { return io::quote(message); };
  if (message.size() > 1000)
    violated(str_cat("the message has ", message.size(), " bytes: ", quote()));
  if (!io::is_utf8(message)) violated("the message is not UTF-8: " + quote());
  const bool line = std::none_of(message.begin(), message.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (message.empty() || !line) violated("the message is not one line: " + quote());
}

Watch::Watch(std::size_t input_bytes, std::int64_t constant_bytes)
    : most_bytes_(kTimesItsSize * static_cast<std::int64_t>(input_bytes) + constant_bytes),
      live_before_(live + memory::usage().live_bytes),
      start_(std::clock()) {
  peak = live.load();
  memory::reset_peak();
}

void Watch::check() const {
  const double seconds = static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC;
  const std::int64_t bytes = peak + memory::usage().peak_bytes - live_before_;
  if (seconds > kSeconds)
    violated(str_cat("the reader took ", seconds, " s; ", kSeconds, " are allowed"));
  if (bytes > most_bytes_)
    violated(str_cat("the reader took ", bytes, " bytes of memory; ", most_bytes_, " are allowed"));
}

}  // namespace gradus::fuzz

// Replaces every form of operator new and delete that the library may call.
using gradus::fuzz::allocate;
using gradus::fuzz::allocate_or_throw;
using gradus::fuzz::release;
constexpr std::size_t kUsual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

void* operator new(std::size_t n) { return allocate_or_throw(n, kUsual); }
void* operator new[](std::size_t n) { return allocate_or_throw(n, kUsual); }
void* operator new(std::size_t n, std::align_val_t a) {
  return allocate_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a) {
  return allocate_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, kUsual); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, kUsual); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(n, static_cast<std::size_t>(a));
}
void operator delete(void* data) noexcept { release(data); }
void operator delete[](void* data) noexcept { release(data); }
void operator delete(void* data, std::size_t) noexcept { release(data); }
void operator delete[](void* data, std::size_t) noexcept { release(data); }
void operator delete(void* data, std::align_val_t) noexcept { release(data); }
void operator delete[](void* data, std::align_val_t) noexcept { release(data); }
void operator delete(void* data, std::size_t, std::align_val_t) noexcept { release(data); }
void operator delete[](void* data, std::size_t, std::align_val_t) noexcept { release(data); }
void operator delete(void* data, const std::nothrow_t&) noexcept { release(data); }
void operator delete(void* data, std::align_val_t, const std::nothrow_t&) noexcept {
  release(data);
}
