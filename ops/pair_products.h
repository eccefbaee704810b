// The two products of attention, over the pairs (i, j) that a mask does not hide. They are matmul,
// but for this: a hidden pair contributes nothing, forward and backward, even if what it would
// contribute is NaN or infinite. In a plain product its weight 0 would not do, because 0 · NaN is
// NaN.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

/// y_ij = Σ_c a_ic b_jc, and 0 where `hides` is true: a [..., T, D], b [..., S, D], hides bool
/// [..., T, S] → [..., T, S]. An undefined `hides` hides nothing. a, b and hides have equal
/// batches.
Tensor pair_products(const Tensor& a, const Tensor& b, const Tensor& hides);

/// y_ic = Σ_j w_ij x_jc over the j that `hides` does not hide from i: w [..., T, S], 0 where hidden
/// (or NaN, which then is not read), x [..., S, D] → [..., T, D].
Tensor weighted_sum(const Tensor& w, const Tensor& x, const Tensor& hides);

}  // namespace gradus
