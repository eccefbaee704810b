// Walking over arrays of one shape and different strides, as rows: the loop under every
// element-wise kernel, so that the kernels themselves see a pointer, a step and a count.
#pragma once

#include <array>
#include <cstdint>

#include "gradus/base/function_ref.h"
#include "gradus/engine/shape.h"

namespace gradus {

inline constexpr int kMaxOperands = 5;
inline constexpr std::int64_t kSmall =
    1024;  // elements below which finding rows is most of the work
using Offsets = std::array<std::int64_t, kMaxOperands>;  // one entry an operand, in elements

/// body(offsets, n, steps) for rows of n elements that together make up `shape`: operand k's row
/// starts at offsets[k] elements from its first and advances by steps[k]. Axes that follow each
/// other in memory for every operand are merged, so contiguous arrays are one long row (cut into
/// chunks). Rows run in parallel; each element is visited once.
void for_each_row(
    const Shape& shape, std::span<const Strides> operands,
    FunctionRef<void(const Offsets& offsets, std::int64_t n, const Offsets& steps)> body);

}  // namespace gradus
