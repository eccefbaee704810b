// Movement: the same numbers in other places. Views share the numbers and copy nothing.
#pragma once

#include <span>
#include <vector>

#include "gradus/engine/broadcast.h"  // expand
#include "gradus/engine/tensor.h"

namespace gradus {

// ---- views ----
/// One size may be −1: it is computed. A view where strides allow, else a copy. ShapeError.
Tensor reshape(const Tensor& x, const Shape& shape);
Tensor view(const Tensor& x, const Shape& shape);  // reshape that never copies, else ShapeError
Tensor flatten(const Tensor& x, int first = 0, int last = -1);
Tensor transpose(const Tensor& x, int a = -2, int b = -1);
Tensor permute(const Tensor& x, const Axes& order);  // axis i of the result is axis order[i] of x
Tensor squeeze(const Tensor& x, int axis);           // ShapeError unless its size is 1
Tensor unsqueeze(const Tensor& x, int axis);
/// [start, stop) of `axis`, every step-th; negative ends count from the end, and are cut to size.
Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t stop,
             std::int64_t step = 1);
Tensor select(const Tensor& x, int axis, std::int64_t position);  // one position; the axis goes
std::vector<Tensor> split(const Tensor& x, std::int64_t size,
                          int axis = 0);  // the last may be shorter
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis);
std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, int axis = 0);

// ---- copies ----
Tensor clone(const Tensor& x);       // the same values in a buffer of its own; recorded
Tensor contiguous(const Tensor& x);  // x itself where it is contiguous already; recorded
Tensor cat(std::span<const Tensor> x, int axis = 0);
Tensor cat(std::initializer_list<Tensor> x, int axis = 0);
Tensor stack(std::span<const Tensor> x, int axis = 0);  // along a new axis
Tensor stack(std::initializer_list<Tensor> x, int axis = 0);
Tensor repeat(const Tensor& x, const Shape& times);  // the whole of x, times[i] times along axis i
Tensor flip(const Tensor& x, const Axes& axes);
Tensor tril(const Tensor& x,
            std::int64_t diagonal = 0);  // 0 above the diagonal of the last two axes
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);
/// `before` and `after` elements of `value` at the ends of `axis`.
Tensor pad(const Tensor& x, int axis, std::int64_t before, std::int64_t after, double value = 0);

}  // namespace gradus
