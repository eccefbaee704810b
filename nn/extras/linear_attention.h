#pragma once

#include <vector>

#include "gradus/nn/linear.h"
#include "gradus/ops/linear_attention.h"

namespace gradus::nn {

/// φ in LinearAttention: a FeatureMap, or random features (performer_attention()).
enum class LinearAttentionKind { elu_plus_one, relu, performer };

/// Options of LinearAttention.
struct LinearAttentionLayerOptions {
  std::int64_t width = 0;  // C
  std::int64_t heads = 1;  // H; divides C
  LinearAttentionKind kind = LinearAttentionKind::elu_plus_one;
  std::int64_t features = 0;  // M, used only by performer; 0: 2 D
  bool causal = false;        // if true, each position attends only to itself and earlier ones
  bool bias = true;
};

/// Like MultiHeadAttention, but with linear_attention() or performer_attention(). A performer draws
/// its features at construction and saves them.
class LinearAttention : public Layer<LinearAttention> {
 public:
  explicit LinearAttention(const LinearAttentionLayerOptions& options);
  /// [B, T, C] → [B, T, C]. In example b, padding starts at position lengths[b].
  Tensor forward(const Tensor& x, const std::vector<std::int64_t>& lengths = {}) const;
  Members members() override {
    return {{"qkv_proj", qkv_proj}, {"out_proj", out_proj}, {"features", buffer(features)}};
  }

  LinearAttentionLayerOptions options;
  Linear qkv_proj;  // [3C, C]: rows for q, k, v
  Linear out_proj;  // [C, C]
  Tensor features;  // [M, D], used only by performer
};

/// Options of LinformerAttention.
struct LinformerAttentionOptions {
  std::int64_t width = 0;    // C
  std::int64_t heads = 1;    // H; divides C
  std::int64_t length = 0;   // maximum T
  std::int64_t reduced = 0;  // K, number of key and value mixtures
  double dropout = 0;        // applied to the attention weights
  bool bias = true;
};

/// Attention to K mixtures E k of keys and F v of values. All heads share E and F. Not causal,
/// because mixtures contain later positions. Wang et al. 2020.
class LinformerAttention : public Layer<LinformerAttention> {
 public:
  explicit LinformerAttention(const LinformerAttentionOptions& options);
  /// [B, T, C] → [B, T, C], T ≤ length. In example b, padding starts at position lengths[b].
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
  Tensor key_map, value_map;  // E and F, [K, length]; initialized with xavier_uniform_
};

}  // namespace gradus::nn
