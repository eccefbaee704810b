#include "gradus/tests/support/failing_memory.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "gradus/engine/base/error.h"
#include "gradus/tests/support/sanitizers.h"

namespace {

constinit std::atomic<int> wanted{0};  // 0: disabled
constinit std::atomic<int> counted{0};
constinit std::atomic<bool> failing{false}, lasting{false};
constinit std::atomic<std::int64_t> live{0};

bool fails_now() {
  const int k = wanted.load(std::memory_order_relaxed);
  if (k == 0) return false;
  const int n = ++counted;
  if (lasting ? n < k : n != k) return false;
  failing = true;
  return true;
}

}  // namespace

namespace gradus::testing {

FailAt::FailAt(int k, Mode mode) {
  counted = 0;
  failing = false;
  lasting = mode == from_then_on;
  wanted = k;
}
FailAt::~FailAt() { wanted = 0; }
bool FailAt::failed() const { return failing; }
int FailAt::count() const { return counted; }

std::int64_t live_objects() {
#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 16000
  return 0;  // a std::vector does not delete what it has copied if a later copy throws
#else
  return live;
#endif
}

}  // namespace gradus::testing

// The linker option --wrap (tests/CMakeLists.txt, with the mangled name of memory::allocate)
// redirects the library's calls to __wrap_….
extern "C" void* real_allocate(std::size_t bytes) __asm__("__real_" GRADUS_ALLOCATE);
extern "C" void* failing_allocate(std::size_t bytes) __asm__("__wrap_" GRADUS_ALLOCATE);
extern "C" void* failing_allocate(std::size_t bytes) {
  if (fails_now()) gradus::fail<gradus::MemoryError>("this allocation fails on request");
  return real_allocate(bytes);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||       \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)

namespace gradus::testing {
const bool counts_new = false;
}

#else

namespace gradus::testing {
const bool counts_new = true;
}

namespace {

void* take(std::size_t bytes, std::size_t alignment) noexcept {
  if (fails_now()) return nullptr;
  void* data = alignment <= alignof(std::max_align_t)
                   ? std::malloc(bytes + (bytes == 0))
                   : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (data != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return data;
}

void* take_or_throw(std::size_t bytes, std::size_t alignment) {
  void* data = take(bytes, alignment);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

void give_back(void* data) noexcept {
  if (data != nullptr) live.fetch_sub(1, std::memory_order_relaxed);
  std::free(data);
}

}  // namespace

// clang-format off
void* operator new(std::size_t n) { return take_or_throw(n, 1); }
void* operator new[](std::size_t n) { return take_or_throw(n, 1); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return take(n, 1); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return take(n, 1); }
void* operator new(std::size_t n, std::align_val_t a) { return take_or_throw(n, std::size_t(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return take_or_throw(n, std::size_t(a)); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return take(n, std::size_t(a));
}
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return take(n, std::size_t(a));
}
void operator delete(void* p) noexcept { give_back(p); }
void operator delete[](void* p) noexcept { give_back(p); }
void operator delete(void* p, std::size_t) noexcept { give_back(p); }
void operator delete[](void* p, std::size_t) noexcept { give_back(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { give_back(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { give_back(p); }
void operator delete(void* p, std::align_val_t) noexcept { give_back(p); }
void operator delete[](void* p, std::align_val_t) noexcept { give_back(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { give_back(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { give_back(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { give_back(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { give_back(p); }
// clang-format on

#endif
