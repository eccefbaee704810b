// Walking over arrays of one shape and different strides, as rows: the loop under every
// element-wise kernel, so that the kernels themselves see a pointer, a step and a count.
#pragma once

#include <array>
#include <cstdint>

#include "gradus/engine/base/function_ref.h"
#include "gradus/engine/tensor.h"

namespace gradus {

inline constexpr int kMaxOperands = 5;
inline constexpr std::int64_t kSmall = 1024;  // elements below which finding rows costs most
using Offsets = std::array<std::int64_t, kMaxOperands>;  // one entry an operand, in elements

/// body(offsets, n, steps) for rows of n elements that together make up `shape`: operand k's row
/// starts at offsets[k] elements from its first and advances by steps[k]. Axes that follow each
/// other in memory for every operand are merged, so contiguous arrays are one long row (cut into
/// chunks). Rows run in parallel; each element is visited once.
void for_each_row(
    const Shape& shape, std::span<const Strides> operands,
    FunctionRef<void(const Offsets& offsets, std::int64_t n, const Offsets& steps)> body);

/// What kernels do to tensors, outside the graph. Public operations of these names are recorded.
namespace kernel {

/// A row-major tensor whose values are in `storage`, which must be large enough.
Tensor over(std::shared_ptr<Storage> storage, const Shape& shape, Dtype dtype);
Tensor copy(const Tensor& x);                  // contiguous, in a buffer of its own
Tensor contiguous(const Tensor& x);            // x where it is contiguous, else a copy
Tensor convert(const Tensor& x, Dtype dtype);  // a converted copy; x where it has the dtype
/// The same values seen with other sizes, strides and offset (in elements). ShapeError where that
/// would reach outside x's storage.
Tensor strided_view(const Tensor& x, const Shape& shape, const Strides& strides,
                    std::int64_t offset);
Tensor transposed(const Tensor& x, int a = -2, int b = -1);  // a view with two axes exchanged
/// A view of start, start + step, … along `axis`, `count` of them.
Tensor sliced(const Tensor& x, int axis, std::int64_t start, std::int64_t count,
              std::int64_t step = 1);
/// The same values, contiguous, seen as `shape`. ShapeError if the element counts differ.
Tensor reshaped(const Tensor& x, const Shape& shape);

}  // namespace kernel

}  // namespace gradus
