// Indexing by i64. Throws IndexError with value, position and range. Gradients of repeated indices
// accumulate.
#pragma once

#include <optional>

#include "gradus/engine/tensor.h"

namespace gradus {

/// Selects positions `index` [n] along `axis`, which then has size n.
Tensor index_select(const Tensor& x, int axis, const Tensor& index);

/// y[i, j, …] = x[i, index[i, j, …], …] along `axis`. index has x's rank; its other sizes are ≤
/// x's.
Tensor gather(const Tensor& x, int axis, const Tensor& index);

/// Adds source[i, j, …] to x at index[i, j, …] of `axis`. source and index have equal shapes.
Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source);

/// Returns [..., classes] with a 1 at index[...]. No gradient.
Tensor one_hot(const Tensor& index, std::int64_t classes, Dtype dtype = default_dtype());

/// Selects rows of `weight` [V, C] for `ids` [...]: [..., C]. Row padding_idx gets no gradient.
Tensor embedding(const Tensor& weight, const Tensor& ids,
                 std::optional<std::int64_t> padding_idx = {});

}  // namespace gradus
