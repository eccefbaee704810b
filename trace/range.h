#pragma once

#include <cstdint>
#include <string>

#include "gradus/engine/tensor.h"

namespace gradus::trace {

/// The smallest and largest value of a tensor, and its NaN and infinity counts.
struct ValueRange {
  std::int64_t count = 0;  // elements
  std::int64_t nans = 0;
  std::int64_t plus_infs = 0;
  std::int64_t minus_infs = 0;
  double lowest = 0, highest = 0;  // among finite values; 0 if there are none

  std::int64_t infs() const { return plus_infs + minus_infs; }
  std::int64_t finite() const { return count - nans - infs(); }
  bool all_finite() const { return nans == 0 && infs() == 0; }
};

/// Computes the range in one pass over x. An undefined tensor has no elements.
ValueRange range_of(const Tensor& x);

/// "0.25", "-1.5 … 2", "0 … 1, 3 nan, 12 -inf of 64", "no elements".
std::string to_string(const ValueRange& range);

}  // namespace gradus::trace
