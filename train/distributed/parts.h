// What processes send each other of an optimiser in parts.
#pragma once

#include "gradus/train/distributed/transport.h"
#include "gradus/train/optim/chunks.h"

namespace gradus::optim {

/// The bytes of numbers begin … end of a contiguous tensor; to write them counts as no write.
inline distributed::Bytes bytes_of(const Tensor& x, std::int64_t begin, std::int64_t end) {
  const auto element = static_cast<std::int64_t>(size_of(x.dtype()));
  return {static_cast<std::byte*>(x.storage()->data()) + (x.offset() + begin) * element,
          static_cast<std::size_t>((end - begin) * element)};
}

}  // namespace gradus::optim
