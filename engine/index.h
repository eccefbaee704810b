// Index types used in x[{1, slice(2, 5)}].
#pragma once

#include <cstdint>
#include <limits>

namespace gradus {

/// A range along an axis, like NumPy's start:stop:step. Negative ends count from the end. Defaults
/// to the entire axis.
struct Slice {
  std::int64_t start = 0;
  std::int64_t stop = std::numeric_limits<std::int64_t>::max();  // exclusive
  std::int64_t step = 1;                                         // ≥ 1
};
inline Slice slice(std::int64_t start, std::int64_t stop, std::int64_t step = 1) {
  return {start, stop, step};
}

/// An index along one axis: a position (removes the axis) or a slice (keeps it).
struct Index {
  Index(std::int64_t at) : position(at), is_position(true) {}  // NOLINT: implicit
  Index(int at) : Index(std::int64_t{at}) {}                   // NOLINT: implicit
  Index(Slice part) : range(part) {}                           // NOLINT: implicit
  Slice range;
  std::int64_t position = 0;
  bool is_position = false;
};

}  // namespace gradus
