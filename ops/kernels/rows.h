// Rows: a tensor seen as rows of its last axis, for the kernels that take a row at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gradus/engine/base/parallel.h"
#include "gradus/engine/tensor.h"

namespace gradus {

/// How many rows, and how long each is. A tensor of rank 0 is one row of one; one without elements
/// has no rows, whatever its shape says.
struct Rows {
  explicit Rows(const Tensor& x)
      : length(x.rank() == 0 ? 1 : x.shape()[x.rank() - 1]),
        count(length == 0 ? 0 : x.numel() / length) {}

  std::int64_t length, count;
};

/// One row of a kernel's input: numbers `stride` apart.
template <class T>
struct StridedRow {
  const T* data;
  std::int64_t stride;
};

/// body(begin, end) over the rows, in parallel; `cost` is what an element takes, in cheap ones.
template <class Body>
void for_rows(const Rows& rows, std::int64_t cost, Body&& body) {
  parallel_for(rows.count, rows_grain(rows.length * cost), body);
}

/// Rows of a chunk where each chunk adds up sums of its own, which are then added: at most 32
/// chunks, since more would cost more to add than threads save.
inline std::int64_t summing_grain(const Rows& rows) {
  return std::max(rows_grain(rows.length), (rows.count + 31) / 32);
}

}  // namespace gradus
