#include "gradus/tests/support/failing_memory.h"

#include <atomic>
#include <cstddef>

#include "gradus/engine/base/error.h"

namespace {

std::atomic<int> left{0};  // allocations until the next failure; 0: disabled

}  // namespace

namespace gradus::testing {

FailAt::FailAt(int k) { left = k; }
FailAt::~FailAt() { left = 0; }
bool FailAt::failed() const { return left <= 0; }

}  // namespace gradus::testing

// The linker option --wrap (tests/CMakeLists.txt) redirects the library's calls to __wrap_….
extern "C" void* __real__ZN6gradus6memory8allocateEm(std::size_t bytes);
extern "C" void* __wrap__ZN6gradus6memory8allocateEm(std::size_t bytes) {
  int now = left.load();
  while (now > 0 && !left.compare_exchange_weak(now, now - 1)) {
  }
  if (now == 1) {
    left = -1;
    gradus::fail<gradus::MemoryError>("this allocation fails on request");
  }
  return __real__ZN6gradus6memory8allocateEm(bytes);
}
