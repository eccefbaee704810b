// Requires linking failing_memory.cpp.
#pragma once

#include <cstdint>

namespace gradus::testing {

/// True if FailAt also counts operator new. Sanitizers have their own.
extern const bool counts_new;

/// Makes the k-th allocation of its lifetime fail, in any thread: a tensor's throws MemoryError,
/// and operator new throws std::bad_alloc. Use no assertions during its lifetime, because they
/// allocate.
class FailAt {
 public:
  enum Mode { once, from_then_on };
  explicit FailAt(int k, Mode mode = once);
  ~FailAt();
  FailAt(const FailAt&) = delete;
  FailAt& operator=(const FailAt&) = delete;

  bool failed() const;  // an allocation has failed
  int count() const;    // allocations so far
};

/// Returns the number of objects of operator new that were not deleted. 0 with a sanitizer
/// and with versions of libc++ before 16.
std::int64_t live_objects();

}  // namespace gradus::testing
