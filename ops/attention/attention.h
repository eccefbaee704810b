// Scaled dot-product attention (Vaswani et al. 2017, eq. 1), fused.
#pragma once

#include <optional>

#include "gradus/engine/tensor.h"
#include "gradus/ops/mask/mask.h"

namespace gradus {

/// Options of scaled_dot_product_attention().
struct AttentionOptions {
  Tensor bias = {};      // added to the scores; broadcasts to [B, H, T, S]; differentiable
  double dropout = 0;    // probability of zeroing a weight, in [0, 1)
  bool training = true;  // false: no dropout
  std::optional<double> scale = {};  // default: 1/√D
};

/// Returns softmax(q kᵀ · scale + bias, over the keys that `mask` allows) v.
///
/// q [B, H, T, D], k [B, Hk, S, D], v [B, Hk, S, Dv] → [B, H, T, Dv], with any strides. Hk must
/// divide H: query head h uses key head h / (H / Hk) (grouped queries, Ainslie et al. 2023; Hk = 1:
/// Shazeer 2019). A query without visible keys has output 0 and gradient 0. Padding is ignored,
/// even if NaN. Padding means keys at either end that the mask, or one side of a & b, hides from
/// every query. A NaN in any other key may affect even queries from which the mask hides that key.
/// Saves the log of each row's sum, from which backward recomputes the weights (Dao et al. 2022).
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const Mask& mask = {}, const AttentionOptions& options = {});

/// Output of attention with its weights, composed of matmul, mask, softmax, dropout and matmul.
/// Under FormulaScope, scaled_dot_product_attention() also runs this composition.
struct AttentionOutput {
  Tensor output;   // [B, H, T, Dv]
  Tensor weights;  // [B, H, T, S], before dropout
};
AttentionOutput attention_with_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                       const Mask& mask = {}, const AttentionOptions& options = {});

/// Returns a view of [B, T, C] as [B, H, T, D] with D = C / H. merge_heads() reverses it, and
/// copies unless heads are contiguous.
Tensor split_heads(const Tensor& x, std::int64_t heads);
Tensor merge_heads(const Tensor& x);

/// Self-attention on packed projections: qkv [B, T, 3·H·D] (q, k, v, each split into heads) →
/// [B, T, H·D].
Tensor packed_self_attention(const Tensor& qkv, std::int64_t heads, const Mask& mask,
                             const AttentionOptions& options = {});

}  // namespace gradus
