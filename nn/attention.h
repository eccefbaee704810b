// MultiHeadAttention, to oneself and to others.
#pragma once

#include "gradus/nn/linear.h"
#include "gradus/nn/module.h"
#include "gradus/ops/attention.h"

namespace gradus::nn {

struct MultiHeadAttentionOptions {
  std::int64_t width = 0;  // C, of queries and output
  std::int64_t heads = 1;  // H; divides C
  std::int64_t memory_width =
      0;               // of what is attended to; 0: it is the input itself (self-attention)
  bool bias = true;    // in the projections
  double dropout = 0;  // on the attention weights
};

/// [B, T, C] → [B, H, T, D] with D = C / H, a view; and back (a copy unless heads lie in order).
Tensor split_heads(const Tensor& x, std::int64_t heads);
Tensor merge_heads(const Tensor& x);

/// Concat(head_1 … head_H) W_O with head_i = attention(x W_Q, m W_K, m W_V) on its D = C / H
/// columns; Vaswani et al. 2017, §3.2.2. Self-attention has one packed projection, qkv_proj;
/// attention to a memory has q_proj, k_proj and v_proj.
class MultiHeadAttention : public Layer<MultiHeadAttention> {
 public:
  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options);

  Tensor forward(const Tensor& x, const Mask& mask = {}) const;  // [B, T, C] → the same
  Tensor forward(const Tensor& x, const Tensor& memory,
                 const Mask& mask = {}) const;  // memory [B, S, M]
  /// residual + forward(x, mask), the sum taken in the last product.
  Tensor add_to(const Tensor& residual, const Tensor& x, const Mask& mask) const;

  Members members() override;
  MultiHeadAttention blank() const { return MultiHeadAttention(options); }

  MultiHeadAttentionOptions options;
  Linear qkv_proj;                // [3C, C]: q, k, v one after the other. Self-attention only
  Linear q_proj, k_proj, v_proj;  // attention to a memory only
  Linear out_proj;                // [C, C]

 private:
  Tensor attend(const Tensor& x, const Mask& mask) const;
};

}  // namespace gradus::nn
