// Einstein summation.
#pragma once

#include <string_view>

#include "gradus/engine/tensor.h"

namespace gradus {

/// einsum("bhtd,bhsd->bhts", q, k): multiplies the operands and sums over letters missing in the
/// result. A letter is an axis with the same size everywhere; "..." are the axes in between, which
/// broadcast. The result is always explicit. Uses matmul if both operands share a summed letter.
/// Throws ShapeError for mismatched sizes, ValueError for an invalid formula.
Tensor einsum(std::string_view formula, const Tensor& a, const Tensor& b);

/// einsum of one tensor: sums and reorders axes, "bij->ji".
Tensor einsum(std::string_view formula, const Tensor& a);

}  // namespace gradus
