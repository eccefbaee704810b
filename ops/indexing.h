// Picking by index. Indices are i64; out of range is an IndexError that names value, place and
// range. Repeated indices add up in the gradient.
#pragma once

#include <optional>

#include "gradus/engine/tensor.h"

namespace gradus {

/// The positions `index` [n] of `axis`: that axis has size n afterwards.
Tensor index_select(const Tensor& x, int axis, const Tensor& index);

/// y[i, j, …] = x[i, index[i, j, …], …] along `axis`; index has x's rank and other sizes ≤ x's.
Tensor gather(const Tensor& x, int axis, const Tensor& index);

/// x with source[i, j, …] added at position index[i, j, …] of `axis`; source and index are alike.
Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source);

/// [..., classes] with a 1 at index[...]; no gradient.
Tensor one_hot(const Tensor& index, std::int64_t classes, Dtype dtype = default_dtype());

/// Rows of `weight` [V, C] for `ids` [...]: [..., C]. Row padding_idx gets no gradient.
Tensor embedding(const Tensor& weight, const Tensor& ids,
                 std::optional<std::int64_t> padding_idx = {});

}  // namespace gradus
