// Indexing with i64 tensors. Throws IndexError with the value, position and range. Gradients of
// repeated indices accumulate.
#pragma once

#include <optional>

#include "gradus/engine/tensor.h"

namespace gradus {

/// Selects the positions `index` [n] along `axis`, which then has size n.
Tensor index_select(const Tensor& x, int axis, const Tensor& index);

/// y[i, j, …] = x[i, index[i, j, …], …] along `axis`. `index` has the rank of x, and its other
/// sizes are at most those of x.
Tensor gather(const Tensor& x, int axis, const Tensor& index);

/// Adds source[i, j, …] to x at index[i, j, …] of `axis`. `source` and `index` must have equal
/// shapes.
Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source);

/// Returns a tensor of shape [..., classes] with a 1 at index[...]. Has no gradient.
Tensor one_hot(const Tensor& index, std::int64_t classes, Dtype dtype = default_dtype());

/// Selects rows of `weight` [V, C]: ids [...] → [..., C]. Row padding_idx receives no gradient.
Tensor embedding(const Tensor& weight, const Tensor& ids,
                 std::optional<std::int64_t> padding_idx = {});

}  // namespace gradus
