// Transformer blocks.
#pragma once

#include "gradus/nn/attention.h"
#include "gradus/nn/dropout.h"
#include "gradus/nn/feed_forward.h"
#include "gradus/nn/norm.h"

namespace gradus::nn {

/// Places norms before each branch (pre) or after each residual sum (post).
enum class NormPlacement { pre, post };

/// Options of a block. BERT and Translator use other defaults for `activation` and `norm`.
struct BlockOptions {
  std::int64_t width = 0, heads = 1;          // C, model width; H, which divides C
  std::optional<std::int64_t> kv_heads = {};  // default: heads
  std::optional<std::int64_t> hidden = {};    // F, feed-forward width; default: 4 · width
  double dropout = 0;                         // applied to attention weights and both branches
  bool bias = true;
  std::optional<Activation> activation = {};  // default: gelu_tanh
  std::optional<NormPlacement> norm = {};     // default: pre
  NormKind norm_kind = NormKind::layer;
  double norm_eps = 1e-5;
  HeadOptions head = {};  // options of self-attention
};

/// Sets `activation` and `norm` to these defaults if they are unset.
BlockOptions with_defaults(BlockOptions options, Activation activation = Activation::gelu_tanh,
                           NormPlacement norm = NormPlacement::pre);

/// Transformer block, [B, T, C] → [B, T, C]. Dropout is applied to each branch.
/// pre:   x = x + attention(norm1(x));   x = x + feed_forward(norm2(x))    (Xiong et al. 2020)
/// post:  x = norm1(x + attention(x));   x = norm2(x + feed_forward(x))    (Vaswani et al. 2017)
class Block : public Layer<Block> {
 public:
  explicit Block(const BlockOptions& options);
  /// Returns the parameter count without constructing a block. Exact below 2⁵³; cannot overflow.
  static double parameter_count(const BlockOptions& options);
  using Module::parameter_count;
  Tensor forward(const Tensor& x, const Mask& mask = {}, KVCache* cache = nullptr) const;
  Members members() override {
    return {{"norm1", norm1},
            {"attention", attention},
            {"norm2", norm2},
            {"feed_forward", feed_forward},
            {"dropout", dropout}};
  }

  BlockOptions options;
  Norm norm1, norm2;
  MultiHeadAttention attention;
  FeedForward feed_forward;
  Dropout dropout;
};
using EncoderBlock = Block;

/// Transformer decoder block: x [B, T, C], memory [B, S, C] → [B, T, C].
/// pre:   x = x + attention(norm1(x));   x = x + cross_attention(norm2(x), memory);
///        x = x + feed_forward(norm3(x));   post: each norm follows its sum, as in Block.
class DecoderBlock : public Layer<DecoderBlock> {
 public:
  explicit DecoderBlock(const BlockOptions& options);
  Tensor forward(const Tensor& x, const Tensor& memory, const Mask& mask = causal_mask(),
                 const Mask& memory_mask = {}, KVCache* cache = nullptr) const;
  Members members() override {
    return {{"norm1", norm1},    {"attention", attention},
            {"norm2", norm2},    {"cross_attention", cross_attention},
            {"norm3", norm3},    {"feed_forward", feed_forward},
            {"dropout", dropout}};
  }

  BlockOptions options;
  Norm norm1, norm2, norm3;
  MultiHeadAttention attention;
  CrossAttention cross_attention;
  FeedForward feed_forward;
  Dropout dropout;
};

}  // namespace gradus::nn
