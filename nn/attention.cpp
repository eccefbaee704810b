// B batch, T queries, S keys, C width, H heads, G key/value heads, D = C / H.
#include "gradus/nn/attention.h"

#include "gradus/nn/attention_record.h"
#include "gradus/nn/cache.h"
#include "gradus/ops/create.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/shape_ops.h"

namespace gradus::nn {
namespace {

std::vector<std::int64_t> up_to(std::int64_t n) { return arange(n).to_vector<std::int64_t>(); }

/// Adds the attention weights to the current AttentionRecord, if any.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask,
                 const AttentionOptions& options) {
  AttentionRecord* record = AttentionRecord::current();
  if (!record) return scaled_dot_product_attention(q, k, v, mask, options);
  const AttentionOutput attended = attention_with_weights(q, k, v, mask, options);
  record->add(attended.weights);
  return attended.output;
}

/// Checks the options of both layers. Returns D, the head width.
template <class Options>
std::int64_t checked_head_width(const char* layer, const Options& options,
                                std::optional<std::int64_t> given = {}) {
  const std::int64_t C = options.width, H = options.heads, G = options.kv_heads.value_or(H);
  require(!given || *given > 0, layer, ": the head width must be positive, got ",
          given.value_or(0));
  require(C > 0 && H > 0 && (given || C % H == 0), layer, ": ", H,
          " heads do not divide a width of ", C, ". Choose heads that divide the width.");
  require(G > 0 && H % G == 0, layer, ": ", G, " kv_heads do not divide ", H,
          " heads. Choose kv_heads that divide the heads.");
  check_dropout(layer, options.dropout);
  return given.value_or(C / H);
}

/// Returns the bias [H, T, S] or [B, H, T, S], or an undefined tensor.
template <class Layer>
Tensor position_bias(const Layer& layer, HeadPosition position, const KVCache::FlatPositions& at,
                     Dtype dtype) {
  if (position == HeadPosition::alibi)
    return alibi_bias(layer.options.heads, at.queries, at.keys, at.examples, dtype);
  if (position == HeadPosition::relative) return layer.relative(at.queries, at.keys, at.examples);
  return {};
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& given) : options(given) {
  const HeadOptions& head = options.head;
  const std::int64_t C = options.width;
  const std::int64_t D = checked_head_width("MultiHeadAttention", options, head.width);
  require(head.position != HeadPosition::rotary || D % 2 == 0,
          "MultiHeadAttention: rotary positions need an even head width, got ", D);
  qkv_proj =
      Linear(C, (options.heads + 2 * kv_heads()) * D, {head.qkv_bias.value_or(options.bias)});
  out_proj = Linear(options.heads * D, C, {head.out_bias.value_or(options.bias)});
  if (head.qk_norm) {
    q_norm = RMSNorm(D, {.eps = *head.qk_norm});
    k_norm = RMSNorm(D, {.eps = *head.qk_norm});
  }
  if (head.position == HeadPosition::relative)
    relative = RelativeBias(options.heads, head.relative);
}

Tensor MultiHeadAttention::forward(const Tensor& x, const Mask& mask, KVCache* cache) const {
  const HeadOptions& head = options.head;
  const std::int64_t H = options.heads, G = kv_heads(), D = head_width();
  const Tensor qkv = qkv_proj(x);  // [B, T, (H + 2·G)·D]
  const bool plain = G == H && head.position == HeadPosition::none && !head.qk_norm;
  if (plain && !cache && !AttentionRecord::current())  // fast path: one op reads the heads in place
    return out_proj(
        packed_self_attention(qkv, H, mask, {.dropout = options.dropout, .training = training()}));

  const std::vector<Tensor> parts = split(qkv, {H * D, G * D, G * D}, -1);
  Tensor q = split_heads(parts[0], H);  // [B, H, T, D]
  KeysValues all{.keys = split_heads(parts[1], G),
                 .values = split_heads(parts[2], G)};  // [B, G, T, D]
  if (head.qk_norm) {
    q = q_norm(q);
    all.keys = k_norm(all.keys);
  }
  KVCache::FlatPositions at;
  if (head.position != HeadPosition::none)
    at = cache ? cache->flat_positions()
               : KVCache::FlatPositions{up_to(x.size(1)), up_to(x.size(1)), 0};
  if (head.position == HeadPosition::rotary) {
    q = apply_rotary(q, at.queries, head.rotary);
    all.keys = apply_rotary(all.keys, at.queries, head.rotary);
  }
  if (cache) all = cache->extend(*this, all.keys, all.values);  // [B, G, S, D]
  const Mask placed = cache ? remap_positions(mask, cache->queries(), cache->keys()) : mask;
  const AttentionOptions how{.bias = position_bias(*this, head.position, at, x.dtype()),
                             .dropout = options.dropout,
                             .training = training()};
  return out_proj(merge_heads(attention(q, all.keys, all.values, placed, how)));
}

CrossAttention::CrossAttention(const CrossAttentionOptions& given) : options(given) {
  const std::int64_t C = options.width, D = checked_head_width("CrossAttention", options);
  const std::int64_t G = options.kv_heads.value_or(options.heads);
  const std::int64_t M = options.memory_width.value_or(C), V = options.value_width.value_or(M);
  require(M > 0 && V > 0, "CrossAttention: memory_width and value_width must be positive, got ", M,
          " and ", V);
  require(options.position != HeadPosition::rotary,
          "CrossAttention: rotary positions need a single sequence, not a memory of width ", M,
          ". Use no positions, or a bias (alibi, relative).");
  q_proj = Linear(C, C, {options.bias});
  k_proj = Linear(M, G * D, {options.bias});
  v_proj = Linear(V, G * D, {options.bias});
  out_proj = Linear(C, C, {options.bias});
  if (options.position == HeadPosition::relative)
    relative = RelativeBias(options.heads, options.relative);
}

/// Returns the memory's keys and values [B, G, S, D], from the cache if possible.
KeysValues CrossAttention::project(const Tensor& x, const Tensor& keys, const Tensor& values,
                                   KVCache* cache) const {
  if (const KeysValues* known = cache ? cache->cross(*this) : nullptr) {
    require<ShapeError>(known->keys.size(0) == x.size(0) && known->keys.size(2) == keys.size(1),
                        "CrossAttention: the cache holds a memory of ", known->keys.size(0),
                        " examples and ", known->keys.size(2), " positions, but the new memory is ",
                        keys.shape(), ". Make a new cache.");
    return *known;
  }
  const std::int64_t G = options.kv_heads.value_or(options.heads);
  KeysValues memory{.keys = split_heads(k_proj(keys), G), .values = split_heads(v_proj(values), G)};
  if (cache) cache->set_cross(*this, memory);
  return memory;
}

Tensor CrossAttention::forward(const Tensor& x, const Tensor& memory, const Mask& mask,
                               KVCache* cache) const {
  return forward(x, memory, memory, mask, cache);
}

Tensor CrossAttention::forward(const Tensor& x, const Tensor& keys, const Tensor& values,
                               const Mask& mask, KVCache* cache) const {
  const KeysValues memory = project(x, keys, values, cache);
  const Tensor q = split_heads(q_proj(x), options.heads);  // [B, H, T, D]
  const std::vector<std::int64_t> places = up_to(keys.size(1));
  const Mask placed = cache ? remap_positions(mask, cache->queries(), {places}) : mask;
  KVCache::FlatPositions at =
      cache ? cache->flat_positions() : KVCache::FlatPositions{up_to(x.size(1)), {}, 0};
  at.keys = places;
  for (std::int64_t b = 1; b < at.examples; ++b)  // all examples have the same memory positions
    at.keys.insert(at.keys.end(), places.begin(), places.end());
  const AttentionOptions how{.bias = position_bias(*this, options.position, at, x.dtype()),
                             .dropout = options.dropout,
                             .training = training()};
  return out_proj(merge_heads(attention(q, memory.keys, memory.values, placed, how)));
}

SelfAttention::SelfAttention(std::int64_t width, SelfAttentionOptions given) : options(given) {
  const std::int64_t keys = options.key_width.value_or(width);
  const std::int64_t values = options.value_width.value_or(width);
  require(width > 0 && keys > 0 && values > 0,
          "SelfAttention: width, key_width and value_width must be positive, got ", width, ", ",
          keys, " and ", values);
  check_dropout("SelfAttention", options.dropout);
  q_proj = Linear(width, keys, {options.bias});
  k_proj = Linear(width, keys, {options.bias});
  v_proj = Linear(width, values, {options.bias});
}

Tensor SelfAttention::forward(const Tensor& x, const Mask& mask) const {
  const Tensor q = unsqueeze(q_proj(x), 1);  // [B, 1, T, d_k]
  const Tensor k = unsqueeze(k_proj(x), 1);  // [B, 1, T, d_k]
  const Tensor v = unsqueeze(v_proj(x), 1);  // [B, 1, T, d_v]
  const Tensor y = attention(q, k, v, mask, {.dropout = options.dropout, .training = training()});
  return squeeze(y, 1);  // [B, T, d_v]
}

}  // namespace gradus::nn
