// Attention layers.
#pragma once

#include <optional>

#include "gradus/nn/linear.h"
#include "gradus/nn/module.h"
#include "gradus/nn/norm.h"
#include "gradus/nn/position.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/rotary.h"

namespace gradus::nn {

class KVCache;  // nn/cache.h
struct KeysValues;

using gradus::merge_heads;
using gradus::split_heads;

/// Position encoding inside attention. rotary: rotates q and k (Su et al. 2021). alibi: adds a bias
/// that decreases with distance (Press et al. 2022). relative: adds a learned bias for each bucket
/// of distances (Raffel et al. 2020).
enum class HeadPosition { none, rotary, alibi, relative };

/// Options of the heads in self-attention.
struct HeadOptions {
  HeadPosition position = HeadPosition::none;
  RelativeBuckets relative = {};                     // used by HeadPosition::relative
  RotaryOptions rotary = {};                         // used by HeadPosition::rotary
  std::optional<std::int64_t> width = {};            // D; default: C / H
  std::optional<bool> qkv_bias = {}, out_bias = {};  // default: bias
  std::optional<double> qk_norm = {};  // eps of the RMSNorm of q and k; default: no norm
};

/// Options of MultiHeadAttention.
struct MultiHeadAttentionOptions {
  std::int64_t width = 0;  // C, model width
  std::int64_t heads = 1;  // H, number of heads; divides C unless head.width is set
  /// G, the number of key/value heads, each shared by H / G query heads. Default: H.
  std::optional<std::int64_t> kv_heads = {};
  bool bias = true;
  double dropout = 0;  // applied to the attention weights
  HeadOptions head = {};
};

/// Self-attention: Concat(head_1 … head_H) W_O, where head_i = attention(x W_Q, x W_K, x W_V) on D
/// = C / H columns. Vaswani et al. 2017, §3.2.2. Grouped-query attention if G < H (Ainslie et al.
/// 2023), multi-query attention if G = 1 (Shazeer 2019).
class MultiHeadAttention : public Layer<MultiHeadAttention> {
 public:
  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options);

  /// [B, T, C] → [B, T, C]. With a cache, x also attends to earlier tokens.
  Tensor forward(const Tensor& x, const Mask& mask = {}, KVCache* cache = nullptr) const;
  Members members() override {
    return {{"qkv_proj", qkv_proj},
            {"out_proj", out_proj},
            {"q_norm", q_norm, options.head.qk_norm.has_value()},
            {"k_norm", k_norm, options.head.qk_norm.has_value()},
            {"relative", relative, options.head.position == HeadPosition::relative}};
  }

  MultiHeadAttentionOptions options;
  Linear qkv_proj;         // [(H + 2·G)·D, C]: rows for q, k, v
  Linear out_proj;         // [C, H·D]
  RMSNorm q_norm, k_norm;  // [D]; used only with qk_norm (Dehghani et al. 2023)
  RelativeBias relative;

  std::int64_t kv_heads() const { return options.kv_heads.value_or(options.heads); }
  std::int64_t head_width() const {
    return options.head.width.value_or(options.width / options.heads);
  }
};

/// Options of CrossAttention.
struct CrossAttentionOptions {
  std::int64_t width = 0;                         // C
  std::int64_t heads = 1;                         // H; divides C
  std::optional<std::int64_t> memory_width = {};  // M, width of the memory of keys; default: C
  std::optional<std::int64_t> value_width = {};   // width of the memory of values; default: M
  std::optional<std::int64_t> kv_heads = {};      // G, key/value heads; default: H
  bool bias = true;
  double dropout = 0;
  HeadPosition position = HeadPosition::none;  // rotary is not supported
  RelativeBuckets relative = {};
};

/// Attention from x to a memory m: head_i = attention(x W_Q, m W_K, m W_V).
class CrossAttention : public Layer<CrossAttention> {
 public:
  explicit CrossAttention(const CrossAttentionOptions& options);

  /// x [B, T, C], memory [B, S, M] → [B, T, C]. A cache stores the projected memory.
  Tensor forward(const Tensor& x, const Tensor& memory, const Mask& mask = {},
                 KVCache* cache = nullptr) const;
  /// Like the overload above, with separate memories for keys [B, S, M] and values
  /// [B, S, value_width].
  Tensor forward(const Tensor& x, const Tensor& keys, const Tensor& values, const Mask& mask = {},
                 KVCache* cache = nullptr) const;
  Members members() override {
    return {{"q_proj", q_proj},
            {"k_proj", k_proj},
            {"v_proj", v_proj},
            {"out_proj", out_proj},
            {"relative", relative, options.position == HeadPosition::relative}};
  }

  CrossAttentionOptions options;
  Linear q_proj, k_proj, v_proj;  // [C, C], [G·D, M], [G·D, value_width]
  Linear out_proj;                // [C, C]
  RelativeBias relative;

 private:
  KeysValues project(const Tensor& x, const Tensor& keys, const Tensor& values,
                     KVCache* cache) const;
};

/// Options of a single SelfAttention head.
struct SelfAttentionOptions {
  std::optional<std::int64_t> key_width = {};    // d_k; default: width
  std::optional<std::int64_t> value_width = {};  // d_v; default: width
  bool bias = true;
  double dropout = 0;  // applied to the attention weights
};

/// One attention head: softmax(x W_Q (x W_K)ᵀ / √d_k) x W_V, [B, T, width] → [B, T, d_v]. Vaswani
/// et al. 2017, §3.2.1.
class SelfAttention : public Layer<SelfAttention> {
 public:
  explicit SelfAttention(std::int64_t width, SelfAttentionOptions options = {});
  Tensor forward(const Tensor& x, const Mask& mask = {}) const;
  Members members() override {
    return {{"q_proj", q_proj}, {"k_proj", k_proj}, {"v_proj", v_proj}};
  }
  SelfAttention same_architecture() const { return SelfAttention(q_proj.weight.size(1), options); }

  SelfAttentionOptions options;
  Linear q_proj, k_proj, v_proj;  // [d_k, width] twice, [d_v, width]
};

}  // namespace gradus::nn
