// B batch, T queries, S keys, C width, H heads, G heads of keys and values, D = C / H.
#include "gradus/nn/attention.h"

#include <numeric>

#include "gradus/nn/attention_record.h"
#include "gradus/ops/rotary.h"
#include "gradus/ops/shape_ops.h"

namespace gradus::nn {
namespace {

std::vector<std::int64_t> up_to(std::int64_t n) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// softmax(q kᵀ / √D + bias, masked) v, which leaves its weights with a record that wants them.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask,
                 const AttentionOptions& options) {
  AttentionRecord* record = AttentionRecord::current();
  if (!record) return scaled_dot_product_attention(q, k, v, mask, options);
  const Attended attended = attention_with_weights(q, k, v, mask, options);
  record->add(attended.weights);
  return attended.output;
}

void check_dropout(const char* layer, double p) {
  require(0 <= p && p < 1, layer, ": dropout ", p, " is not in [0, 1)");
}

}  // namespace

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
  const std::int64_t C = options.width, M = options.memory_width, H = options.heads;
  require(C > 0 && H > 0 && C % H == 0, "MultiHeadAttention: ", H,
          " heads do not divide a width of ", C);
  require(M >= 0 && options.value_width >= 0, "MultiHeadAttention: a memory_width of ", M,
          ", a value_width of ", options.value_width, ": must not be negative");
  require(options.value_width == 0 || M > 0, "MultiHeadAttention: values of width ",
          options.value_width, " come from a memory: set memory_width too");
  if (options.kv_heads == 0) options.kv_heads = H;
  const std::int64_t G = options.kv_heads, D = C / H;
  require(G > 0 && H % G == 0, "MultiHeadAttention: ", G, " kv_heads do not divide ", H, " heads");
  check_dropout("MultiHeadAttention", options.dropout);
  const LinearOptions bias{options.bias};
  if (M == 0) {
    qkv_proj = Linear(C, C + 2 * G * D, bias);
  } else {
    q_proj = Linear(C, C, bias);
    k_proj = Linear(M, G * D, bias);
    v_proj = Linear(options.value_width > 0 ? options.value_width : M, G * D, bias);
  }
  out_proj = Linear(C, C, bias);
  if (options.position == HeadPosition::relative) relative = RelativeBias(H, options.relative);
  require(options.position != HeadPosition::rotary || M == 0,
          "MultiHeadAttention: rotary positions are those of one sequence, but it attends to a ",
          "memory of width ", M, ": use none, or a bias (alibi, relative)");
  require(options.position != HeadPosition::rotary || D % 2 == 0,
          "MultiHeadAttention: rotary positions turn pairs, but a head is ", D, " wide");
}

Members MultiHeadAttention::members() {
  Members all;
  if (options.memory_width == 0)
    all = {{"qkv_proj", qkv_proj}, {"out_proj", out_proj}};
  else
    all = {{"q_proj", q_proj}, {"k_proj", k_proj}, {"v_proj", v_proj}, {"out_proj", out_proj}};
  if (options.position == HeadPosition::relative) all.push_back({"relative", relative});
  return all;
}

Tensor MultiHeadAttention::forward(const Tensor& x, const Mask& mask, KVCache* cache) const {
  return out_proj(attend(x, mask, cache));
}

Tensor MultiHeadAttention::forward(const Tensor& x, const Tensor& memory, const Mask& mask,
                                   KVCache* cache) const {
  return out_proj(attend(x, memory, memory, mask, cache));
}

Tensor MultiHeadAttention::forward(const Tensor& x, const Tensor& keys, const Tensor& values,
                                   const Mask& mask) const {
  return out_proj(attend(x, keys, values, mask, nullptr));
}

Tensor MultiHeadAttention::add_to(const Tensor& residual, const Tensor& x, const Mask& mask,
                                  KVCache* cache) const {
  const Scope scope(*this);
  return out_proj.add_to(residual, attend(x, mask, cache));
}

Tensor MultiHeadAttention::add_to(const Tensor& residual, const Tensor& x, const Tensor& memory,
                                  const Mask& mask, KVCache* cache) const {
  const Scope scope(*this);
  return out_proj.add_to(residual, attend(x, memory, memory, mask, cache));
}

/// Heads of self-attention, merged: [B, T, C].
Tensor MultiHeadAttention::attend(const Tensor& x, const Mask& mask, KVCache* cache) const {
  require(options.memory_width == 0, "MultiHeadAttention: made for a memory of width ",
          options.memory_width, ": call it with one");
  const std::int64_t H = options.heads, G = options.kv_heads, D = options.width / H;
  const Tensor qkv = qkv_proj(x);  // [B, T, C + 2·G·D]
  const bool bare = G == H && options.position == HeadPosition::none;
  if (bare && !cache && !AttentionRecord::current())
    return packed_self_attention(qkv, H, mask,
                                 {.dropout = options.dropout, .training = training()});

  const std::vector<Tensor> parts = split(qkv, {H * D, G * D, G * D}, -1);
  const KVCache::Flat at = options.position == HeadPosition::none ? KVCache::Flat{}
                           : cache                                ? cache->flat()
                                   : KVCache::Flat{up_to(x.size(1)), up_to(x.size(1)), 0};
  Tensor q = split_heads(parts[0], H);  // [B, H, T, D]
  Tensor k = split_heads(parts[1], G);  // [B, G, T, D]
  Tensor v = split_heads(parts[2], G);  // [B, G, T, D]
  if (options.position == HeadPosition::rotary)
    q = rotate(q, at.queries), k = rotate(k, at.queries);
  if (!cache) return weigh(q, k, v, mask, position_bias(at, x.dtype()));
  const KeysValues all = cache->extend(*this, k, v);  // [B, G, S, D]
  return weigh(q, all.keys, all.values, place(mask, cache->queries(), cache->keys()),
               position_bias(at, x.dtype()));
}

/// Heads of attention to a memory, merged: [B, T, C].
Tensor MultiHeadAttention::attend(const Tensor& x, const Tensor& keys, const Tensor& values,
                                  const Mask& mask, KVCache* cache) const {
  require(options.memory_width > 0,
          "MultiHeadAttention: made for self-attention: set memory_width to attend to a memory");
  const std::int64_t H = options.heads, G = options.kv_heads;
  const KeysValues* known = cache ? cache->memory(*this) : nullptr;
  KeysValues memory;
  if (known) {
    memory = *known;
    require<ShapeError>(memory.keys.size(0) == x.size(0) && memory.keys.size(2) == keys.size(1),
                        "MultiHeadAttention: the cache remembers a memory of ", memory.keys.size(0),
                        " examples and ", memory.keys.size(2), " places, this one is ",
                        keys.shape(), ": make a new cache");
  } else {
    memory.keys = split_heads(k_proj(keys), G);      // [B, G, S, D]
    memory.values = split_heads(v_proj(values), G);  // [B, G, S, D]
    if (cache) cache->remember(*this, memory);
  }
  const Tensor q = split_heads(q_proj(x), H);  // [B, H, T, D]
  const std::vector<std::int64_t> places = up_to(keys.size(1));
  const Mask placed = cache ? place(mask, cache->queries(), {places}) : mask;
  KVCache::Flat at = cache ? cache->flat() : KVCache::Flat{up_to(x.size(1)), {}, 0};
  at.keys = places;
  for (std::int64_t b = 1; b < at.examples; ++b)  // the memory stands alike for every example
    at.keys.insert(at.keys.end(), places.begin(), places.end());
  return weigh(q, memory.keys, memory.values, placed, position_bias(at, x.dtype()));
}

/// What positions add to the scores, [H, T, S] or [B, H, T, S]; undefined where they add nothing.
Tensor MultiHeadAttention::position_bias(const KVCache::Flat& at, Dtype dtype) const {
  if (options.position == HeadPosition::alibi)
    return alibi_bias(options.heads, at.queries, at.keys, at.examples, dtype);
  if (options.position == HeadPosition::relative) return relative(at.queries, at.keys, at.examples);
  return {};
}

Tensor MultiHeadAttention::weigh(const Tensor& q, const Tensor& k, const Tensor& v,
                                 const Mask& mask, const Tensor& bias) const {
  const AttentionOptions how{.bias = bias, .dropout = options.dropout, .training = training()};
  return merge_heads(attention(q, k, v, mask, how));  // [B, H, T, D] → [B, T, C]
}

SelfAttention::SelfAttention(std::int64_t width, SelfAttentionOptions given) : options(given) {
  require(width > 0 && options.key_width >= 0 && options.value_width >= 0, "SelfAttention: width ",
          width, ", key_width ", options.key_width, ", value_width ", options.value_width,
          ": must be positive (0 of the last two means the width)");
  check_dropout("SelfAttention", options.dropout);
  if (options.key_width == 0) options.key_width = width;
  if (options.value_width == 0) options.value_width = width;
  q_proj = Linear(width, options.key_width, {options.bias});
  k_proj = Linear(width, options.key_width, {options.bias});
  v_proj = Linear(width, options.value_width, {options.bias});
}

Tensor SelfAttention::forward(const Tensor& x, const Mask& mask) const {
  const Tensor q = unsqueeze(q_proj(x), 1);  // [B, 1, T, d_k]
  const Tensor k = unsqueeze(k_proj(x), 1);  // [B, 1, T, d_k]
  const Tensor v = unsqueeze(v_proj(x), 1);  // [B, 1, T, d_v]
  const Tensor y = attention(q, k, v, mask, {.dropout = options.dropout, .training = training()});
  return squeeze(y, 1);  // [B, T, d_v]
}

}  // namespace gradus::nn
