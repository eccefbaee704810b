// Sums of products, written by naming axes.
#pragma once

#include <string_view>

#include "gradus/engine/tensor.h"

namespace gradus {

/// einsum("bhtd,bhsd->bhts", q, k): products of those elements whose letters agree, summed
/// over the letters that the result leaves out. A letter is an axis, the same size wherever it
/// stands; "..." are the axes in between, which broadcast. The result is always written out. What
/// has a letter to sum that both have is one product by BLAS.
/// ShapeError names the letter, the operands and the sizes; ValueError what cannot be read.
Tensor einsum(std::string_view formula, const Tensor& a, const Tensor& b);

/// The same of one tensor: axes summed and put into another order, "bij->ji".
Tensor einsum(std::string_view formula, const Tensor& a);

}  // namespace gradus
