// B batch, T tokens, C width, H heads, D = C / H, M features, K reduced length.
#include "gradus/nn/extras/linear_attention.h"

#include "gradus/engine/base/random.h"
#include "gradus/nn/init.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/shape_ops.h"

namespace gradus::nn {
namespace {

void check_heads(const char* layer, std::int64_t width, std::int64_t heads) {
  require(width > 0 && heads > 0 && width % heads == 0, layer, ": ", heads,
          " heads do not divide a width of ", width, ". Choose heads that divide the width.");
}

std::vector<Tensor> packed_heads(const Tensor& x, const Linear& qkv_proj, std::int64_t heads) {
  std::vector<Tensor> parts = chunk(qkv_proj(x), 3, -1);       // 3 × [B, T, C]
  for (Tensor& part : parts) part = split_heads(part, heads);  // [B, H, T, D]
  return parts;
}

}  // namespace

LinearAttention::LinearAttention(const LinearAttentionLayerOptions& given) : options(given) {
  const std::int64_t C = options.width;
  check_heads("LinearAttention", C, options.heads);
  const bool random = options.kind == LinearAttentionKind::performer;
  require(options.features >= 0 && (random || options.features == 0),
          "LinearAttention: features must be 0, or positive for a performer "
          "(0 = twice the head width), got ",
          options.features);
  qkv_proj = Linear(C, 3 * C, {options.bias});
  out_proj = Linear(C, C, {options.bias});
  if (!random) return;
  const std::int64_t D = C / options.heads;
  if (options.features == 0) options.features = 2 * D;
  features = orthogonal_projection(options.features, D, generator().next());  // [M, D]
}

Tensor LinearAttention::forward(const Tensor& x, const std::vector<std::int64_t>& lengths) const {
  const std::vector<Tensor> qkv = packed_heads(x, qkv_proj, options.heads);
  if (options.kind == LinearAttentionKind::performer)
    return out_proj(merge_heads(
        performer_attention(qkv[0], qkv[1], qkv[2], features,
                            {.causal = options.causal, .lengths = lengths})));  // [B, T, C]
  const FeatureMap feature =
      options.kind == LinearAttentionKind::relu ? FeatureMap::relu : FeatureMap::elu_plus_one;
  return out_proj(merge_heads(linear_attention(
      qkv[0], qkv[1], qkv[2],
      {.feature = feature, .causal = options.causal, .lengths = lengths})));  // [B, T, C]
}

LinformerAttention::LinformerAttention(const LinformerAttentionOptions& given) : options(given) {
  const std::int64_t C = options.width;
  check_heads("LinformerAttention", C, options.heads);
  require(options.length > 0 && options.reduced > 0,
          "LinformerAttention: length and reduced must be positive, got ", options.length, " and ",
          options.reduced);
  check_dropout("LinformerAttention", options.dropout);
  qkv_proj = Linear(C, 3 * C, {options.bias});
  out_proj = Linear(C, C, {options.bias});
  for (Tensor* map : {&key_map, &value_map}) {
    *map = parameter(Tensor::empty({options.reduced, options.length}, default_dtype()));
    init::xavier_uniform_(*map);
  }
}

Tensor LinformerAttention::forward(const Tensor& x,
                                   const std::vector<std::int64_t>& lengths) const {
  const std::vector<Tensor> qkv = packed_heads(x, qkv_proj, options.heads);
  const std::int64_t T = x.size(1);
  require<ShapeError>(T <= options.length, "LinformerAttention: ", T,
                      " tokens exceed the layer's length of ", options.length,
                      ". Pass fewer tokens, or increase the length.");
  const auto mixed = [&](const Tensor& map, const Tensor& heads) {
    return matmul(slice(map, 1, 0, T), mask_padding(heads, lengths));
  };
  const Tensor k = mixed(key_map, qkv[1]);    // [B, H, K, D]
  const Tensor v = mixed(value_map, qkv[2]);  // [B, H, K, D]
  const Tensor y = scaled_dot_product_attention(
      qkv[0], k, v, {}, {.dropout = options.dropout, .training = training()});  // [B, H, T, D]
  return out_proj(merge_heads(y));                                              // [B, T, C]
}

}  // namespace gradus::nn
