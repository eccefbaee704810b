// Block: self-attention and a feed-forward net, each around a residual connection. DecoderBlock:
// the same with attention to a memory between them.
#pragma once

#include "gradus/nn/attention.h"
#include "gradus/nn/dropout.h"
#include "gradus/nn/feed_forward.h"
#include "gradus/nn/norm.h"

namespace gradus::nn {

enum class NormPlacement { pre, post };

struct BlockOptions {
  std::int64_t width = 0, heads = 1;
  std::optional<std::int64_t> hidden = {};  // of the feed-forward net; 4 · width
  double dropout = 0;                       // on attention weights and on both branches
  bool bias = true;
  Activation activation = Activation::gelu_tanh;
  NormPlacement norm = NormPlacement::pre;
  NormKind norm_kind = NormKind::layer;
  std::optional<std::int64_t> kv_heads = {};   // heads
  HeadPosition position = HeadPosition::none;  // in self-attention
  double norm_eps = 1e-5;
  // Of self-attention, as MultiHeadAttentionOptions has them:
  RotaryOptions rotary = {};
  std::optional<std::int64_t> head_width = {};       // width / heads
  std::optional<bool> qkv_bias = {}, out_bias = {};  // bias
  std::optional<double> qk_norm = {};
};

/// pre:   x = x + attention(norm1(x));   x = x + feed_forward(norm2(x))    (Xiong et al. 2020)
/// post:  x = norm1(x + attention(x));   x = norm2(x + feed_forward(x))    (Vaswani et al. 2017)
/// [B, T, C] → [B, T, C]. Dropout acts on what each branch adds. With a causal mask it is a block
/// of a GPT, without one of an encoder.
class Block : public Layer<Block> {
 public:
  explicit Block(const BlockOptions& options);
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

/// pre:   x = x + attention(norm1(x));   x = x + cross_attention(norm2(x), memory);
///        x = x + feed_forward(norm3(x));   post: each norm after its sum, as in Block.
/// x [B, T, C] and memory [B, S, C] → [B, T, C].
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
