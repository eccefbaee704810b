#pragma once

#include <algorithm>
#include <cstdint>

#include "gradus/engine/base/parallel.h"
#include "gradus/engine/tensor.h"

namespace gradus {

/// The rows of a tensor. A tensor of rank 0 is one row of length 1; an empty tensor has no rows.
struct Rows {
  explicit Rows(const Tensor& x)
      : length(x.rank() == 0 ? 1 : x.shape()[x.rank() - 1]),
        count(length == 0 ? 0 : x.numel() / length) {}

  std::int64_t length, count;
};

/// A row whose elements are `stride` apart.
template <class T>
struct StridedRow {
  const T* data;
  std::int64_t stride;
};

/// Runs body(begin, end) over the rows in parallel. `cost` is an element's relative cost.
template <class Body>
void for_rows(const Rows& rows, std::int64_t cost, Body&& body) {
  parallel_for(rows.count, rows_grain(rows.length * cost), body);
}

/// Returns the rows per chunk if each chunk has its own sums. Limits the number of chunks to 32,
/// because adding up more is slow.
inline std::int64_t summing_grain(const Rows& rows) {
  return std::max(rows_grain(rows.length), (rows.count + 31) / 32);
}

}  // namespace gradus
