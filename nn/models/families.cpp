#include "gradus/nn/models/families.h"

namespace gradus::nn {
namespace {

using Parts = std::vector<std::int64_t>;

std::int64_t head_width(const BlockOptions& o) { return o.head.width.value_or(o.width / o.heads); }

/// Returns the numbers of rows of q, k and v in MultiHeadAttention::qkv_proj.
Parts qkv_rows(const BlockOptions& o) {
  const std::int64_t D = head_width(o), G = o.kv_heads.value_or(o.heads);
  return {o.heads * D, G * D, G * D};
}

Parts gate_and_up(const BlockOptions& o) {
  const std::int64_t F = o.hidden.value_or(4 * o.width);
  return {F, F};
}

void append(std::vector<WeightRule>& rules, std::vector<WeightRule> more) {
  rules.insert(rules.end(), more.begin(), more.end());
}

}  // namespace

WeightMap gpt2_names() {
  return {
      .rules =
          {{"token.weight", "transformer.wte.weight"},
           {"token.weight", "lm_head.weight", Form::again},
           {"position.weight", "transformer.wpe.weight"},
           {"blocks.{}.norm1.*", "transformer.h.{}.ln_1.*"},
           {"blocks.{}.attention.qkv_proj.*", "transformer.h.{}.attn.c_attn.*", Form::transposed},
           {"blocks.{}.attention.out_proj.*", "transformer.h.{}.attn.c_proj.*", Form::transposed},
           {"blocks.{}.norm2.*", "transformer.h.{}.ln_2.*"},
           {"blocks.{}.feed_forward.up.*", "transformer.h.{}.mlp.c_fc.*", Form::transposed},
           {"blocks.{}.feed_forward.down.*", "transformer.h.{}.mlp.c_proj.*", Form::transposed},
           {"norm.*", "transformer.ln_f.*"},
           {"head.weight", "lm_head.weight"}},
      .prefix = "transformer.",
      .ignored = {"transformer.h.{}.attn.bias", "transformer.h.{}.attn.masked_bias"}};
}

WeightMap llama_names(const GPTOptions& o) {
  WeightMap map{
      .rules = {{"token.weight", "model.embed_tokens.weight"},
                {"blocks.{}.norm1.weight", "model.layers.{}.input_layernorm.weight"},
                {"blocks.{}.attention.qkv_proj.*", "model.layers.{}.self_attn.(q|k|v)_proj.*",
                 Form::same, qkv_rows(o.block)},
                {"blocks.{}.attention.q_norm.*", "model.layers.{}.self_attn.q_norm.*"},
                {"blocks.{}.attention.k_norm.*", "model.layers.{}.self_attn.k_norm.*"},
                {"blocks.{}.attention.out_proj.*", "model.layers.{}.self_attn.o_proj.*"},
                {"blocks.{}.norm2.weight", "model.layers.{}.post_attention_layernorm.weight"},
                {"blocks.{}.feed_forward.up.*", "model.layers.{}.mlp.(gate|up)_proj.*", Form::same,
                 gate_and_up(o.block)},
                {"blocks.{}.feed_forward.down.*", "model.layers.{}.mlp.down_proj.*"},
                {"norm.weight", "model.norm.weight"},
                {"head.weight", "lm_head.weight"}},
      .prefix = "model.",
      .ignored = {"model.layers.{}.self_attn.rotary_emb.inv_freq"}};
  if (o.tied) append(map.rules, {{"token.weight", "lm_head.weight", Form::again}});
  return map;
}

WeightMap gguf_names(const GPTOptions& o, bool pairs) {
  return {.rules = {{"token.weight", "token_embd.weight"},
                    {"blocks.{}.norm1.weight", "blk.{}.attn_norm.weight"},
                    {"blocks.{}.attention.qkv_proj.*",
                     "blk.{}.attn_(q|k|v).*",
                     pairs ? Form::pairs : Form::same,
                     qkv_rows(o.block),
                     {head_width(o.block)}},
                    {"blocks.{}.attention.q_norm.*", "blk.{}.attn_q_norm.*"},
                    {"blocks.{}.attention.k_norm.*", "blk.{}.attn_k_norm.*"},
                    {"blocks.{}.attention.out_proj.*", "blk.{}.attn_output.*"},
                    {"blocks.{}.norm2.weight", "blk.{}.ffn_norm.weight"},
                    {"blocks.{}.feed_forward.up.*", "blk.{}.ffn_(gate|up).*", Form::same,
                     gate_and_up(o.block)},
                    {"blocks.{}.feed_forward.down.*", "blk.{}.ffn_down.*"},
                    {"norm.weight", "output_norm.weight"},
                    {"head.weight", "output.weight"}}};
}

namespace {

/// Returns the map for a BERT at prefix `ours`, with ALBERT's names if blocks are shared.
WeightMap encoder_names(const BERTOptions& o, const std::string& ours) {
  const std::string theirs = o.shared ? "albert." : "bert.";
  WeightMap map{
      .rules = {{ours + "token.weight", theirs + "embeddings.word_embeddings.weight"},
                {ours + "position.weight", theirs + "embeddings.position_embeddings.weight"},
                {ours + "segment.weight", theirs + "embeddings.token_type_embeddings.weight"},
                {ours + "norm.*", theirs + "embeddings.LayerNorm.*"}},
      .prefix = theirs,
      .ignored = {theirs + "embeddings.position_ids"}};
  if (o.shared)
    append(map.rules, {{ours + "mapping.*", theirs + "encoder.embedding_hidden_mapping_in.*"}});
  const std::string from = ours + "encoder.blocks.{}.";
  const auto to = [&](const std::string& bert, const std::string& albert) {
    return o.shared ? theirs + "encoder.albert_layer_groups.0.albert_layers.{}." + albert
                    : theirs + "encoder.layer.{}." + bert;
  };
  append(map.rules,
         {{from + "attention.qkv_proj.*",
           to("attention.self.(query|key|value).*", "attention.(query|key|value).*"), Form::same,
           qkv_rows(o.block)},
          {from + "attention.out_proj.*", to("attention.output.dense.*", "attention.dense.*")},
          {from + "norm1.*", to("attention.output.LayerNorm.*", "attention.LayerNorm.*")},
          {from + "feed_forward.up.*", to("intermediate.dense.*", "ffn.*")},
          {from + "feed_forward.down.*", to("output.dense.*", "ffn_output.*")},
          {from + "norm2.*", to("output.LayerNorm.*", "full_layer_layer_norm.*")}});
  return map;
}

std::string pooler_of(const BERTOptions& o) {
  return o.shared ? "albert.pooler.*" : "bert.pooler.dense.*";
}

}  // namespace

WeightMap bert_names(const BERTOptions& o) {
  WeightMap map = encoder_names(o, "");
  append(map.rules, {{"pooler.*", pooler_of(o)}});
  return map;
}

WeightMap masked_lm_names(const BERTOptions& o) {
  WeightMap map = encoder_names(o, "bert.");
  const std::string head = o.shared ? "predictions." : "cls.predictions.";
  const std::string transform = o.shared ? head : head + "transform.";
  append(map.rules, {{"bert.pooler.*", pooler_of(o)},
                     {"dense.*", transform + "dense.*"},
                     {"norm.*", transform + "LayerNorm.*"},
                     {"bias", head + "bias"},
                     {"bert.token.weight", head + "decoder.weight", Form::again},
                     {"bias", head + "decoder.bias", Form::again}});
  return map;
}

WeightMap text_classifier_names(const BERTOptions& o) {
  WeightMap map = encoder_names(o, "bert.");
  append(map.rules, {{"pooler.*", pooler_of(o)}, {"head.*", "classifier.*"}});
  return map;
}

WeightMap vision_transformer_names(const VisionTransformerOptions& o) {
  const std::string block = "vit.encoder.layer.{}.";
  return {
      .rules = {{"class_token", "vit.embeddings.cls_token"},
                {"position", "vit.embeddings.position_embeddings"},
                {"patch.*",
                 "vit.embeddings.patch_embeddings.projection.*",
                 Form::unrolled,
                 {},
                 {o.channels, o.patch, o.patch}},
                {"encoder.blocks.{}.norm1.*", block + "layernorm_before.*"},
                {"encoder.blocks.{}.attention.qkv_proj.*",
                 block + "attention.attention.(query|key|value).*", Form::same, qkv_rows(o.block)},
                {"encoder.blocks.{}.attention.out_proj.*", block + "attention.output.dense.*"},
                {"encoder.blocks.{}.norm2.*", block + "layernorm_after.*"},
                {"encoder.blocks.{}.feed_forward.up.*", block + "intermediate.dense.*"},
                {"encoder.blocks.{}.feed_forward.down.*", block + "output.dense.*"},
                {"encoder.norm.*", "vit.layernorm.*"},
                {"head.*", "classifier.*"}},
      .prefix = "vit."};
}

namespace {

/// Returns the map of a stack of PyTorch layers. Decoder layers have three norms.
std::vector<WeightRule> torch_stack(const std::string& ours, const std::string& theirs,
                                    bool decoder) {
  const std::string o = ours + "blocks.{}.", t = theirs + "layers.{}.";
  std::vector<WeightRule> rules = {
      {o + "norm1.*", t + "norm1.*"},
      {o + "attention.qkv_proj.weight", t + "self_attn.in_proj_weight"},
      {o + "attention.qkv_proj.bias", t + "self_attn.in_proj_bias"},
      {o + "attention.out_proj.*", t + "self_attn.out_proj.*"},
      {o + "norm2.*", t + "norm2.*"},
      {o + "feed_forward.up.*", t + "linear1.*"},
      {o + "feed_forward.down.*", t + "linear2.*"},
      {ours + "norm.*", theirs + "norm.*"}};
  if (decoder)
    append(rules, {{o + "cross_attention.(q|k|v)_proj.weight", t + "multihead_attn.in_proj_weight"},
                   {o + "cross_attention.(q|k|v)_proj.bias", t + "multihead_attn.in_proj_bias"},
                   {o + "cross_attention.out_proj.*", t + "multihead_attn.out_proj.*"},
                   {o + "norm3.*", t + "norm3.*"}});
  return rules;
}

}  // namespace

WeightMap torch_encoder_names() { return {.rules = torch_stack("", "", false)}; }

WeightMap torch_transformer_names() {
  WeightMap map{.rules = torch_stack("encoder.", "encoder.", false)};
  append(map.rules, torch_stack("decoder.", "decoder.", true));
  return map;
}

WeightMap torch_attention_names() {
  return {.rules = {{"qkv_proj.weight", "in_proj_weight"},
                    {"qkv_proj.bias", "in_proj_bias"},
                    {"out_proj.*", "out_proj.*"}}};
}

WeightMap torch_cross_attention_names(const CrossAttentionOptions& o) {
  const std::int64_t keys = o.memory_width.value_or(o.width), values = o.value_width.value_or(keys);
  WeightMap map{.rules = {{"(q|k|v)_proj.bias", "in_proj_bias"}, {"out_proj.*", "out_proj.*"}}};
  if (keys == o.width && values == o.width)
    append(map.rules, {{"(q|k|v)_proj.weight", "in_proj_weight"}});
  else  // PyTorch stores three weights
    append(map.rules, {{"q_proj.weight", "q_proj_weight"},
                       {"k_proj.weight", "k_proj_weight"},
                       {"v_proj.weight", "v_proj_weight"}});
  return map;
}

}  // namespace gradus::nn
