// Blocks: residual branches, normed before or after. B batch, T tokens, C width.
#include "gradus/nn/block.h"

#include "gradus/ops/dropout.h"

namespace gradus::nn {
namespace {

MultiHeadAttentionOptions attention_of(const BlockOptions& block) {
  return {.width = block.width,
          .heads = block.heads,
          .kv_heads = block.kv_heads,
          .bias = block.bias,
          .dropout = block.dropout,
          .position = block.position};
}

MultiHeadAttentionOptions cross_attention_of(const BlockOptions& block) {
  MultiHeadAttentionOptions options = attention_of(block);
  options.memory_width = block.width;
  options.position = HeadPosition::none;
  return options;
}

FeedForwardOptions feed_forward_of(const BlockOptions& block) {
  return {.width = block.width,
          .hidden = block.hidden,
          .activation = block.activation,
          .bias = block.bias};
}

/// residual + dropout(layer(x, args…)); without dropout the sum is part of the last product.
template <class L, class... Args>
Tensor add_branch(const L& layer, double dropout, const Tensor& residual, const Tensor& x,
                  const Args&... args) {
  if (dropout == 0 || !layer.training()) return layer.add_to(residual, x, args...);
  return dropout_residual(layer(x, args...), residual, dropout);
}

}  // namespace

Block::Block(const BlockOptions& given)
    : options(given),
      norm1(given.width, given.norm_kind),
      norm2(given.width, given.norm_kind),
      attention(attention_of(given)),
      feed_forward(feed_forward_of(given)) {}

Tensor Block::forward(const Tensor& x, const Mask& mask, KVCache* cache) const {
  const double p = options.dropout;
  if (options.norm == NormPlacement::post) {
    const Tensor attended = norm1(add_branch(attention, p, x, x, mask, cache));
    return norm2(add_branch(feed_forward, p, attended, attended));
  }
  const Tensor attended = add_branch(attention, p, x, norm1(x), mask, cache);
  return add_branch(feed_forward, p, attended, norm2(attended));
}

DecoderBlock::DecoderBlock(const BlockOptions& given)
    : options(given),
      norm1(given.width, given.norm_kind),
      norm2(given.width, given.norm_kind),
      norm3(given.width, given.norm_kind),
      attention(attention_of(given)),
      cross_attention(cross_attention_of(given)),
      feed_forward(feed_forward_of(given)) {}

Tensor DecoderBlock::forward(const Tensor& x, const Tensor& memory, const Mask& mask,
                             const Mask& memory_mask, KVCache* cache) const {
  const double p = options.dropout;
  const MultiHeadAttention& cross = cross_attention;
  if (options.norm == NormPlacement::post) {
    const Tensor attended = norm1(add_branch(attention, p, x, x, mask, cache));
    const Tensor informed =
        norm2(add_branch(cross, p, attended, attended, memory, memory_mask, cache));
    return norm3(add_branch(feed_forward, p, informed, informed));
  }
  const Tensor attended = add_branch(attention, p, x, norm1(x), mask, cache);
  const Tensor informed =
      add_branch(cross, p, attended, norm2(attended), memory, memory_mask, cache);
  return add_branch(feed_forward, p, informed, norm3(informed));
}

}  // namespace gradus::nn
