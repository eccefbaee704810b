#pragma once

#include <string_view>

#include "gradus/engine/tensor.h"

namespace gradus {

/// Einstein summation: einsum("bhtd,bhsd->bhts", q, k) multiplies the operands and sums over
/// letters missing in the result. The "->" and the result are required. Equal letters denote equal
/// sizes; "..." denotes the axes in between, which broadcast. Uses matmul if both operands share a
/// summed letter. Throws ShapeError for mismatched sizes, ValueError for an invalid formula.
Tensor einsum(std::string_view formula, const Tensor& a, const Tensor& b);

/// einsum of one tensor: sums over axes and reorders them, "bij->ji".
Tensor einsum(std::string_view formula, const Tensor& a);

}  // namespace gradus
