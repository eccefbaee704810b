// Self-attention at linear cost.
#pragma once

#include <vector>

#include "gradus/nn/linear.h"
#include "gradus/ops/linear_attention.h"

namespace gradus::nn {

/// φ of LinearAttention: a FeatureMap, or random features (performer_attention()).
enum class LinearAttentionKind { elu_plus_one, relu, performer };

/// Sizes and features of LinearAttention.
struct LinearAttentionLayerOptions {
  std::int64_t width = 0;  // C
  std::int64_t heads = 1;  // H; divides C
  LinearAttentionKind kind = LinearAttentionKind::elu_plus_one;
  std::int64_t features = 0;  // M, performer only; 0: 2 D
  bool causal = false;        // each position attends to itself and earlier ones
  bool bias = true;
};

/// MultiHeadAttention with linear_attention() or performer_attention(). A performer draws its
/// features at construction and saves them.
class LinearAttention : public Layer<LinearAttention> {
 public:
  explicit LinearAttention(const LinearAttentionLayerOptions& options);
  /// [B, T, C] → [B, T, C]. Padding starts at lengths[b].
  Tensor forward(const Tensor& x, const std::vector<std::int64_t>& lengths = {}) const;
  Members members() override {
    return {{"qkv_proj", qkv_proj}, {"out_proj", out_proj}, {"features", buffer(features)}};
  }

  LinearAttentionLayerOptions options;
  Linear qkv_proj;  // [3C, C]: rows of q, k, v
  Linear out_proj;  // [C, C]
  Tensor features;  // [M, D], performer only
};

/// Sizes of LinformerAttention.
struct LinformerAttentionOptions {
  std::int64_t width = 0;    // C
  std::int64_t heads = 1;    // H; divides C
  std::int64_t length = 0;   // longest T
  std::int64_t reduced = 0;  // K, number of mixtures
  double dropout = 0;        // on the attention weights
  bool bias = true;
};

/// Attention to K mixtures E k, F v of keys and values, shared by all heads. Not causal: mixtures
/// contain later positions. Wang et al. 2020.
class LinformerAttention : public Layer<LinformerAttention> {
 public:
  explicit LinformerAttention(const LinformerAttentionOptions& options);
  /// [B, T, C] → [B, T, C], T ≤ length. Padding starts at lengths[b].
  Tensor forward(const Tensor& x, const std::vector<std::int64_t>& lengths = {}) const;
  Members members() override {
    return {{"qkv_proj", qkv_proj},
            {"out_proj", out_proj},
            {"key_map", key_map},
            {"value_map", value_map}};
  }

  LinformerAttentionOptions options;
  Linear qkv_proj;            // [3C, C]
  Linear out_proj;            // [C, C]
  Tensor key_map, value_map;  // E and F, [K, length]; start as xavier_uniform_
};

}  // namespace gradus::nn
