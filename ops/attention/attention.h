// Scaled dot-product attention (Vaswani et al. 2017, eq. 1), fused.
#pragma once

#include <optional>

#include "gradus/engine/tensor.h"
#include "gradus/ops/mask/mask.h"

namespace gradus {

struct AttentionOptions {
  Tensor bias = {};      // added to the scores; broadcasts to [B, H, T, S] and gets a gradient
  double dropout = 0;    // on the weights, [0, 1)
  bool training = true;  // dropout only then
  std::optional<double> scale = {};  // 1/√D unless given
};

/// softmax(q kᵀ · scale + bias, over the keys that `mask` allows) v
///
/// q [B, H, T, D], k [B, Hk, S, D], v [B, Hk, S, Dv] → [B, H, T, Dv]; any strides (heads may be
/// views of packed projections). Hk divides H: query head h uses key head h / (H / Hk), nothing is
/// copied (grouped queries, Ainslie et al. 2023; Hk = 1: Shazeer 2019). A query that may attend to
/// nothing gives output 0 and gradient 0. Padding takes no part, NaN included: the keys at either
/// end that the mask (of a & b, one of the two) hides from every query. A NaN at any other position
/// shows, also in rows that hide it: 0 · NaN is NaN. No T × S buffer is kept: the logarithm of each
/// row's sum is, and backward computes the weights again (Dao et al. 2022).
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const Mask& mask = {}, const AttentionOptions& options = {});

/// The same composed of matmul, mask, softmax, dropout, matmul, with the weights [B, H, T, S]
/// beside the output: what the fused one must equal, and what runs under FormulaScope.
struct AttentionOutput {
  Tensor output;   // [B, H, T, Dv]
  Tensor weights;  // [B, H, T, S], before dropout
};
AttentionOutput attention_with_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                       const Mask& mask = {}, const AttentionOptions& options = {});

/// [B, T, C] → [B, H, T, D] with D = C / H, a view; and back (a copy unless heads lie in order).
Tensor split_heads(const Tensor& x, std::int64_t heads);
Tensor merge_heads(const Tensor& x);

/// Self-attention on packed projections, as MultiHeadAttention computes them with one product:
/// qkv [B, T, 3·H·D] (q, k, v one after the other, heads inside each) → [B, T, H·D].
Tensor packed_self_attention(const Tensor& qkv, std::int64_t heads, const Mask& mask,
                             const AttentionOptions& options = {});

}  // namespace gradus
