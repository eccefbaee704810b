// Self-attention whose cost grows with the length, not with its square: by features, by fewer keys.
#pragma once

#include <vector>

#include "gradus/nn/linear.h"
#include "gradus/ops/linear_attention.h"

namespace gradus::nn {

enum class LinearAttentionKind { elu_plus_one, relu, performer };

struct LinearAttentionLayerOptions {
  std::int64_t width = 0;  // C
  std::int64_t heads = 1;  // H; divides C
  LinearAttentionKind kind = LinearAttentionKind::elu_plus_one;
  std::int64_t features = 0;  // M, performer only; 0: 2 D
  bool causal = false;
  bool bias = true;  // in the projections
};

/// MultiHeadAttention with linear_attention() or performer_attention() on each head. A performer's
/// random features are drawn once, when the layer is made, and saved with it.
class LinearAttention : public Layer<LinearAttention> {
 public:
  explicit LinearAttention(const LinearAttentionLayerOptions& options);
  /// [B, T, C] → the same; in example b, places from lengths[b] on are padding.
  Tensor forward(const Tensor& x, const std::vector<std::int64_t>& lengths = {}) const;
  Members members() override {
    return {{"qkv_proj", qkv_proj}, {"out_proj", out_proj}, {"features", buffer(features)}};
  }

  LinearAttentionLayerOptions options;
  Linear qkv_proj;  // [3C, C]: q, k, v one after the other
  Linear out_proj;  // [C, C]
  Tensor features;  // [M, D], of a performer; else undefined
};

struct LinformerAttentionOptions {
  std::int64_t width = 0;    // C
  std::int64_t heads = 1;    // H; divides C
  std::int64_t length = 0;   // the longest T
  std::int64_t reduced = 0;  // K, of keys and values that are left
  double dropout = 0;        // on the attention weights
  bool bias = true;          // in the projections
};

/// Wang et al. 2020: attention to K mixtures of the keys, E k and F v, in place of all T of them.
/// All heads share E and F. Not causal: each mixture holds what comes later.
class LinformerAttention : public Layer<LinformerAttention> {
 public:
  explicit LinformerAttention(const LinformerAttentionOptions& options);
  /// [B, T, C] → the same, T ≤ length; in example b, places from lengths[b] on are padding.
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
  Tensor key_map, value_map;  // E and F, [K, length]; from Glorot & Bengio's uniform
};

}  // namespace gradus::nn
