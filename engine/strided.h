// Traverses arrays with different strides as rows: the loop of all element-wise kernels.
#pragma once

#include <array>
#include <cstdint>

#include "gradus/engine/base/function_ref.h"
#include "gradus/engine/tensor.h"

namespace gradus {

inline constexpr int kMaxOperands = 5;
inline constexpr std::int64_t kSmall = 1024;  // below this, finding rows dominates the cost
using Offsets = std::array<std::int64_t, kMaxOperands>;  // per operand, in elements

/// Calls body(offsets, n, steps) for rows that together cover `shape`. Operand k's row starts at
/// offsets[k] and advances by steps[k]. Axes that are consecutive in memory for every operand are
/// merged; one long row is cut into chunks. Rows run in parallel.
void for_each_row(
    const Shape& shape, std::span<const Strides> operands,
    FunctionRef<void(const Offsets& offsets, std::int64_t n, const Offsets& steps)> body);

/// Tensor kernels outside the graph. Public ops of the same name are recorded.
namespace kernel {

/// A row-major tensor over `storage`, which must be large enough.
Tensor over(std::shared_ptr<Storage> storage, const Shape& shape, Dtype dtype);
Tensor copy(const Tensor& x);                  // contiguous, unshared
Tensor contiguous(const Tensor& x);            // copies only if x is not contiguous
Tensor convert(const Tensor& x, Dtype dtype);  // copies only if the dtype differs
/// A view with other sizes, strides and offset (in elements). Throws ShapeError outside x's
/// storage.
Tensor strided_view(const Tensor& x, const Shape& shape, const Strides& strides,
                    std::int64_t offset);
Tensor transposed(const Tensor& x, int a = -2, int b = -1);
/// A view of `count` positions from `start` on, every step-th.
Tensor sliced(const Tensor& x, int axis, std::int64_t start, std::int64_t count,
              std::int64_t step = 1);
/// A contiguous tensor of the same values. Throws ShapeError if element counts differ.
Tensor reshaped(const Tensor& x, const Shape& shape);

}  // namespace kernel

}  // namespace gradus
