// A buffer comes from the pool and goes back to it, unless it is borrowed.
#include "gradus/engine/storage.h"

#include "gradus/engine/base/memory.h"

namespace gradus {

Storage::Storage(std::size_t bytes) : data_(memory::allocate(bytes)), bytes_(bytes) {}

Storage::~Storage() {
  if (!borrowed_) memory::release(data_, bytes_);
}

}  // namespace gradus
