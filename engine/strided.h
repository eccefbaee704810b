// Traverses arrays with different strides row by row: the loop used by all element-wise kernels.
#pragma once

#include <array>
#include <cstdint>

#include "gradus/engine/base/function_ref.h"
#include "gradus/engine/tensor.h"

namespace gradus {

inline constexpr int kMaxOperands = 5;        // tensors that one loop walks through
inline constexpr std::int64_t kSmall = 1024;  // below this size, finding rows dominates the cost
using Offsets = std::array<std::int64_t, kMaxOperands>;  // one per operand, in elements

/// Calls body(offsets, n, steps) for rows that together cover `shape`. Operand k's row starts at
/// offsets[k] and advances by steps[k]. Axes that are consecutive in memory for every operand are
/// merged; a single long row is split into chunks. Rows run in parallel.
void for_each_row(
    const Shape& shape, std::span<const Strides> operands,
    FunctionRef<void(const Offsets& offsets, std::int64_t n, const Offsets& steps)> body);

/// Tensor kernels. Unlike the public ops of the same name, they are not recorded.
namespace kernel {

/// Returns a row-major tensor over `storage`, which must be large enough.
Tensor over(std::shared_ptr<Storage> storage, const Shape& shape, Dtype dtype);
Tensor copy(const Tensor& x);                  // contiguous, unshared
Tensor contiguous(const Tensor& x);            // copies only if x is not contiguous
Tensor convert(const Tensor& x, Dtype dtype);  // copies only if the dtype differs
struct Copy {
  Tensor target, source;
};
/// Copies each source to its target, all or none. Sources may share memory with any target: their
/// values are those before the call.
void copy_all(std::vector<Copy> copies);
/// Returns a view with other sizes, strides and offset (in elements). Throws ShapeError if it
/// exceeds x's storage.
Tensor strided_view(const Tensor& x, const Shape& shape, const Strides& strides,
                    std::int64_t offset);
Tensor transposed(const Tensor& x, int a = -2, int b = -1);
/// Returns a view of `count` positions: `start` and every step-th position after it.
Tensor sliced(const Tensor& x, int axis, std::int64_t start, std::int64_t count,
              std::int64_t step = 1);
/// Returns a contiguous tensor with the same values. Throws ShapeError if the element counts
/// differ.
Tensor reshaped(const Tensor& x, const Shape& shape);

}  // namespace kernel

}  // namespace gradus
