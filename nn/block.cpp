// B batch, T tokens, C width.
#include "gradus/nn/block.h"

#include "gradus/ops/arithmetic.h"

namespace gradus::nn {
namespace {

MultiHeadAttentionOptions attention_of(const BlockOptions& o) {
  return {o.width, o.heads, o.kv_heads, o.bias, o.dropout, o.head};
}

FeedForwardOptions feed_forward_of(const BlockOptions& o) {
  return {o.width, o.hidden, *o.activation, o.bias};
}

}  // namespace

BlockOptions with_defaults(BlockOptions options, Activation activation, NormPlacement norm) {
  options.activation = options.activation.value_or(activation);
  options.norm = options.norm.value_or(norm);
  return options;
}

Block::Block(const BlockOptions& given)
    : options(with_defaults(given)),
      norm1(given.width, given.norm_kind, {given.norm_eps}),
      norm2(given.width, given.norm_kind, {given.norm_eps}),
      attention(attention_of(given)),
      feed_forward(feed_forward_of(options)),
      dropout(given.dropout) {}

double Block::parameter_count(const BlockOptions& o) {
  const auto C = static_cast<double>(o.width), H = static_cast<double>(o.heads);
  const auto G = static_cast<double>(o.kv_heads.value_or(o.heads));
  const double D = o.head.width ? static_cast<double>(*o.head.width) : C / H;
  const double F = o.hidden ? static_cast<double>(*o.hidden) : 4 * C;
  const double up = o.activation == Activation::swiglu ? 2 * F : F, qkv = (H + 2 * G) * D;
  const double weights = qkv * C + C * H * D + up * C + C * F;
  const double biases = (o.head.qkv_bias.value_or(o.bias) ? qkv : 0) +
                        (o.head.out_bias.value_or(o.bias) ? C : 0) + (o.bias ? up + C : 0);
  const double norms =
      2 * (o.norm_kind == NormKind::layer ? 2 * C : C) + (o.head.qk_norm ? 2 * D : 0);
  const bool relative = o.head.position == HeadPosition::relative;
  return weights + biases + norms + (relative ? H * static_cast<double>(o.head.relative.count) : 0);
}

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
    : options(with_defaults(given)),
      norm1(given.width, given.norm_kind, {given.norm_eps}),
      norm2(given.width, given.norm_kind, {given.norm_eps}),
      norm3(given.width, given.norm_kind, {given.norm_eps}),
      attention(attention_of(given)),
      cross_attention({.width = given.width,
                       .heads = given.heads,
                       .kv_heads = given.kv_heads,
                       .bias = given.bias,
                       .dropout = given.dropout}),
      feed_forward(feed_forward_of(options)),
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
