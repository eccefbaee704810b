// B batch, T queries, S keys, C width, H heads, D = C / H.
#include "gradus/nn/attention.h"

#include "gradus/ops/movement.h"

namespace gradus::nn {

Tensor split_heads(const Tensor& x, std::int64_t heads) {
  require<ShapeError>(x.rank() == 3 && heads > 0 && x.size(2) % heads == 0,
                      "split_heads: ", x.shape(), " with ", heads,
                      " heads: wants [batch, length, width] and heads that divide the width");
  const Tensor apart =
      reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads});  // [B, T, H, D]
  return transpose(apart, 1, 2);                                     // [B, H, T, D]
}

Tensor merge_heads(const Tensor& x) {
  require<ShapeError>(x.rank() == 4, "merge_heads: wants [batch, heads, length, width], not ",
                      x.shape());
  const Tensor side_by_side = transpose(x, 1, 2);                               // [B, T, H, D]
  return reshape(side_by_side, {x.size(0), x.size(2), x.size(1) * x.size(3)});  // [B, T, C]
}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& given) : options(given) {
  const std::int64_t C = options.width, M = options.memory_width;
  require(C > 0 && options.heads > 0 && C % options.heads == 0,
          "MultiHeadAttention: ", options.heads, " heads do not divide a width of ", C);
  require(M >= 0, "MultiHeadAttention: a memory_width of ", M);
  require(0 <= options.dropout && options.dropout < 1, "MultiHeadAttention: dropout ",
          options.dropout, " is not in [0, 1)");
  const LinearOptions bias{options.bias};
  if (M == 0) {
    qkv_proj = Linear(C, 3 * C, bias);
  } else {
    q_proj = Linear(C, C, bias);
    k_proj = Linear(M, C, bias);
    v_proj = Linear(M, C, bias);
  }
  out_proj = Linear(C, C, bias);
}

Members MultiHeadAttention::members() {
  if (options.memory_width == 0) return {{"qkv_proj", qkv_proj}, {"out_proj", out_proj}};
  return {{"q_proj", q_proj}, {"k_proj", k_proj}, {"v_proj", v_proj}, {"out_proj", out_proj}};
}

Tensor MultiHeadAttention::attend(const Tensor& x, const Mask& mask) const {
  require(options.memory_width == 0, "MultiHeadAttention: made for a memory of width ",
          options.memory_width, ": call it with one");
  const Tensor qkv = qkv_proj(x);  // [B, T, 3C]
  return packed_self_attention(qkv, options.heads, mask,
                               {.dropout = options.dropout, .training = training()});
}

Tensor MultiHeadAttention::forward(const Tensor& x, const Mask& mask) const {
  return out_proj(attend(x, mask));
}

Tensor MultiHeadAttention::add_to(const Tensor& residual, const Tensor& x, const Mask& mask) const {
  const Scope scope(*this);
  return out_proj.add_to(residual, attend(x, mask));
}

Tensor MultiHeadAttention::forward(const Tensor& x, const Tensor& memory, const Mask& mask) const {
  require(options.memory_width > 0,
          "MultiHeadAttention: made for self-attention: set memory_width to attend to a memory");
  const Tensor q = split_heads(q_proj(x), options.heads);       // [B, H, T, D]
  const Tensor k = split_heads(k_proj(memory), options.heads);  // [B, H, S, D]
  const Tensor v = split_heads(v_proj(memory), options.heads);  // [B, H, S, D]
  const Tensor heads = scaled_dot_product_attention(
      q, k, v, mask, {.dropout = options.dropout, .training = training()});
  return out_proj(merge_heads(heads));  // [B, T, C]
}

}  // namespace gradus::nn
