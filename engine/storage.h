#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "gradus/engine/base/memory.h"
#include "gradus/engine/base/source_location.h"

namespace gradus {

/// A buffer and its owner.
class Storage {
 public:
  /// Allocates an uninitialized buffer from the pool. Throws MemoryError.
  explicit Storage(std::size_t bytes) : data_(memory::allocate(bytes)), bytes_(bytes) {}

  /// Borrows a buffer and keeps `owner` alive. If `owner` is null, the caller must keep the buffer
  /// alive.
  Storage(void* data, std::size_t bytes, std::shared_ptr<const void> owner)
      : data_(data), bytes_(bytes), borrowed_(true), owner_(std::move(owner)) {}

  ~Storage() {
    if (!borrowed_) memory::release(data_, bytes_);
  }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  bool borrowed() const { return borrowed_; }  // code outside Gradus can access the buffer

  /// Number of writes. Backward compares it to detect writes to saved tensors.
  std::uint32_t version() const { return version_; }
  SourceLocation last_write() const { return last_write_; }
  void written(SourceLocation where) {
    ++version_;
    last_write_ = where;
  }

 private:
  void* data_;
  std::size_t bytes_;
  std::uint32_t version_ = 0;
  bool borrowed_ = false;
  SourceLocation last_write_;
  std::shared_ptr<const void> owner_;
};

}  // namespace gradus
