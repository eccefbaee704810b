// Blocks: residual branches, normed before or after. B batch, T tokens, C width.
#include "gradus/nn/block.h"

#include "gradus/ops/arithmetic.h"

namespace gradus::nn {
namespace {

MultiHeadAttentionOptions attention_of(const BlockOptions& block) {
  return {.width = block.width,
          .heads = block.heads,
          .kv_heads = block.kv_heads,
          .bias = block.qkv_bias.value_or(block.bias),
          .dropout = block.dropout,
          .position = block.position,
          .rotary = block.rotary,
          .head_width = block.head_width,
          .out_bias = block.out_bias.value_or(block.bias),
          .qk_norm = block.qk_norm};
}

CrossAttentionOptions cross_attention_of(const BlockOptions& block) {
  return {.width = block.width,
          .heads = block.heads,
          .kv_heads = block.kv_heads,
          .bias = block.bias,
          .dropout = block.dropout};
}

FeedForwardOptions feed_forward_of(const BlockOptions& block) {
  return {.width = block.width,
          .hidden = block.hidden,
          .activation = block.activation,
          .bias = block.bias};
}

}  // namespace

Block::Block(const BlockOptions& given)
    : options(given),
      norm1(given.width, given.norm_kind, {given.norm_eps}),
      norm2(given.width, given.norm_kind, {given.norm_eps}),
      attention(attention_of(given)),
      feed_forward(feed_forward_of(given)),
      dropout(given.dropout) {}

Tensor Block::forward(const Tensor& input, const Mask& mask, KVCache* cache) const {
  Tensor x = input;  // [B, T, C]
  if (options.norm == NormPlacement::post) {
    x = norm1(x + dropout(attention(x, mask, cache)));
    return norm2(x + dropout(feed_forward(x)));
  }
  x = x + dropout(attention(norm1(x), mask, cache));
  return x + dropout(feed_forward(norm2(x)));
}

DecoderBlock::DecoderBlock(const BlockOptions& given)
    : options(given),
      norm1(given.width, given.norm_kind, {given.norm_eps}),
      norm2(given.width, given.norm_kind, {given.norm_eps}),
      norm3(given.width, given.norm_kind, {given.norm_eps}),
      attention(attention_of(given)),
      cross_attention(cross_attention_of(given)),
      feed_forward(feed_forward_of(given)),
      dropout(given.dropout) {}

Tensor DecoderBlock::forward(const Tensor& input, const Tensor& memory, const Mask& mask,
                             const Mask& memory_mask, KVCache* cache) const {
  Tensor x = input;  // [B, T, C]
  if (options.norm == NormPlacement::post) {
    x = norm1(x + dropout(attention(x, mask, cache)));
    x = norm2(x + dropout(cross_attention(x, memory, memory_mask, cache)));
    return norm3(x + dropout(feed_forward(x)));
  }
  x = x + dropout(attention(norm1(x), mask, cache));
  x = x + dropout(cross_attention(norm2(x), memory, memory_mask, cache));
  return x + dropout(feed_forward(norm3(x)));
}

}  // namespace gradus::nn
