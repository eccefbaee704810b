// How the numbers of all parameters are cut: what optimisers in one process and in parts share.
#pragma once

#include "gradus/engine/strided.h"

namespace gradus::optim {

constexpr std::int64_t kChunk = 1024;  // elements whose squares are added in their own type
/// How many chunks `numbers` elements fill; the last may be shorter.
constexpr std::int64_t chunks_in(std::int64_t numbers) { return (numbers + kChunk - 1) / kChunk; }

/// Numbers begin … end of a contiguous tensor, as one axis; all of them in the tensor's own shape.
inline Tensor part_of(const Tensor& x, std::int64_t begin, std::int64_t end) {
  if (begin == 0 && end == x.numel()) return x;
  return kernel::strided_view(x, {end - begin}, {1}, x.offset() + begin);
}

}  // namespace gradus::optim
