// Makes the k-th allocation of tensor memory fail, wherever it is. The programs that link
// failing_memory.cpp send memory::allocate through it.
#pragma once

namespace gradus::testing {

/// The k-th allocation from now on throws MemoryError, for as long as this lives or until it did.
class FailAt {
 public:
  explicit FailAt(int k);
  ~FailAt();
  FailAt(const FailAt&) = delete;
  FailAt& operator=(const FailAt&) = delete;

  bool failed() const;  // has the allocation been asked for, and refused?
};

}  // namespace gradus::testing
