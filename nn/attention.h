// Attention layers: MultiHeadAttention, to oneself and to others; SelfAttention with one head.
#pragma once

#include "gradus/nn/cache.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/module.h"
#include "gradus/nn/position.h"
#include "gradus/ops/attention/attention.h"

namespace gradus::nn {

/// [B, T, C] → [B, H, T, D] with D = C / H, a view; and back (a copy unless heads lie in order).
Tensor split_heads(const Tensor& x, std::int64_t heads);
Tensor merge_heads(const Tensor& x);

/// How heads see where tokens stand: not at all (positions were added to the input, or do not
/// matter), by turning q and k (Su et al. 2021), or by a bias on the scores, which falls with the
/// distance (Press et al. 2022) or is learned for each range of it (Raffel et al. 2020).
enum class HeadPosition { none, rotary, alibi, relative };

struct MultiHeadAttentionOptions {
  std::int64_t width = 0;         // C, of queries and output
  std::int64_t heads = 1;         // H; divides C
  std::int64_t memory_width = 0;  // M, of what is attended to; 0: it is the input itself
  std::int64_t value_width = 0;   // of what the values are made of, if that is not the memory; 0: M
  std::int64_t kv_heads = 0;      // G heads of keys and values, each for H / G queries; 0: H
  bool bias = true;               // in the projections
  double dropout = 0;             // on the attention weights
  HeadPosition position = HeadPosition::none;
  RelativeBuckets relative = {};  // of HeadPosition::relative
};

/// Concat(head_1 … head_H) W_O with head_i = attention(x W_Q, m W_K, m W_V) on its D = C / H
/// columns; Vaswani et al. 2017, §3.2.2. Self-attention has one packed projection, qkv_proj;
/// attention to a memory has q_proj, k_proj and v_proj. With G < H heads of keys and values it is
/// grouped-query attention (Ainslie et al. 2023), with G = 1 multi-query attention (Shazeer 2019).
/// An AttentionRecord gets the weights.
class MultiHeadAttention : public Layer<MultiHeadAttention> {
 public:
  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options);

  /// Self-attention: [B, T, C] → the same. With a cache, to the tokens before these too.
  Tensor forward(const Tensor& x, const Mask& mask = {}, KVCache* cache = nullptr) const;
  /// To a memory [B, S, M]; a cache remembers its keys and values.
  Tensor forward(const Tensor& x, const Tensor& memory, const Mask& mask = {},
                 KVCache* cache = nullptr) const;
  /// Keys of one memory [B, S, M], values of another [B, S, value_width].
  Tensor forward(const Tensor& x, const Tensor& keys, const Tensor& values,
                 const Mask& mask = {}) const;
  /// residual + forward(x, …), the sum taken in the last product.
  Tensor add_to(const Tensor& residual, const Tensor& x, const Mask& mask,
                KVCache* cache = nullptr) const;
  Tensor add_to(const Tensor& residual, const Tensor& x, const Tensor& memory, const Mask& mask,
                KVCache* cache = nullptr) const;

  Members members() override;
  MultiHeadAttention blank() const { return MultiHeadAttention(options); }

  MultiHeadAttentionOptions options;
  Linear qkv_proj;  // [C + 2·G·D, C]: q, k, v one after the other. Self-attention only
  Linear q_proj, k_proj, v_proj;  // attention to a memory only
  Linear out_proj;                // [C, C]
  RelativeBias relative;          // HeadPosition::relative only

 private:
  Tensor attend(const Tensor& x, const Mask& mask, KVCache* cache) const;
  Tensor attend(const Tensor& x, const Tensor& keys, const Tensor& values, const Mask& mask,
                KVCache* cache) const;
  Tensor position_bias(const KVCache::Flat& positions, Dtype dtype) const;
  Tensor weigh(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask,
               const Tensor& bias) const;
};

struct SelfAttentionOptions {
  std::int64_t key_width = 0;    // d_k; 0: the input's width
  std::int64_t value_width = 0;  // d_v; 0: the input's width
  bool bias = true;
  double dropout = 0;  // on the attention weights
};

/// One head: softmax(x W_Q (x W_K)ᵀ / √d_k) x W_V: [B, T, width] → [B, T, d_v]. Vaswani et al.
/// 2017, §3.2.1. An AttentionRecord gets the weights [B, 1, T, T].
class SelfAttention : public Layer<SelfAttention> {
 public:
  explicit SelfAttention(std::int64_t width, SelfAttentionOptions options = {});
  Tensor forward(const Tensor& x, const Mask& mask = {}) const;
  Members members() override {
    return {{"q_proj", q_proj}, {"k_proj", k_proj}, {"v_proj", v_proj}};
  }
  SelfAttention blank() const { return SelfAttention(q_proj.weight.size(1), options); }

  SelfAttentionOptions options;
  Linear q_proj, k_proj, v_proj;  // [d_k, width] twice, [d_v, width]
};

}  // namespace gradus::nn
