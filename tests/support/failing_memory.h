// Requires linking failing_memory.cpp.
#pragma once

namespace gradus::testing {

/// Makes the k-th tensor allocation of its lifetime throw MemoryError, once.
class FailAt {
 public:
  explicit FailAt(int k);
  ~FailAt();
  FailAt(const FailAt&) = delete;
  FailAt& operator=(const FailAt&) = delete;

  bool failed() const;
};

}  // namespace gradus::testing
