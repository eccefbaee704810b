// Reads and writes config.json. Reading rejects keys that are neither used nor harmless.
#include "gradus/io/pretrained/model_config.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <set>
#include <utility>
#include <vector>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/json.h"
#include "gradus/io/pieces.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

/// True for keys that do not affect logits: names, tokens, dropout in training, other heads.
bool is_harmless(const std::string& key) {
  static const std::vector<std::string> keys = split_text(
      "_name_or_path architectures model_type torch_dtype dtype transformers_version use_cache "
      "initializer_range initializer_factor bos_token_id eos_token_id pad_token_id "
      "cls_token_id sep_token_id attn_pdrop embd_pdrop resid_pdrop attention_dropout "
      "hidden_dropout_prob attention_probs_dropout_prob classifier_dropout "
      "classifier_dropout_prob summary_activation summary_first_dropout summary_proj_to_labels "
      "summary_type summary_use_proj task_specific_params id2label label2id num_labels n_ctx "
      "gradient_checkpointing max_window_layers reorder_and_upcast_attn pretraining_tp "
      "is_llama_config transformers.js_config down_scale_factor gap_size net_structure_type "
      "num_memory_blocks layers_to_keep encoder_stride pooler_act pooler_output_size "
      "directionality pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers "
      "pooler_size_per_head pooler_type do_sample eos_token_ids length_penalty max_length "
      "num_beams num_return_sequences output_past repetition_penalty temperature top_k top_p "
      "finetuning_task",
      ' ');
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// A JSON object that records which keys were read.
class Asked {
 public:
  explicit Asked(const Json& json) : json_(json) {}

  std::int64_t as_int(const std::string& key) { return json_.at(seen(key)).as_int(); }
  std::string text(const std::string& key) { return json_.at(seen(key)).text(); }
  std::int64_t as_int(const std::string& key, std::int64_t otherwise) {
    return json_.as_int(seen(key), otherwise);
  }
  double number(const std::string& key, double otherwise) {
    return json_.number(seen(key), otherwise);
  }
  bool as_bool(const std::string& key, bool otherwise) {
    return json_.as_bool(seen(key), otherwise);
  }
  bool has(const std::string& key) { return json_.has(seen(key)); }
  bool is_null(const std::string& key) {
    for (const auto& [name, value] : json_.members())
      if (name == key) return !json_.has(key);
    return false;
  }
  Json at(const std::string& key) { return json_.at(seen(key)); }

  /// Throws if the key is present with a value other than `value`.
  void must_be(const std::string& key, bool value) {
    if (as_bool(key, value) != value) refuse(key);
  }
  void must_say(const std::string& key, const std::string& value) {
    if (json_.text(seen(key), value) != value) refuse(key);
  }
  void refuse(const std::string& key) {
    refused_ += str_cat("\n  ", key, ": ", json_.at(key).describe());
  }
  void finish() {
    for (const auto& [key, value] : json_.members()) {
      const bool empty = (value.is_object() && value.members().empty()) ||
                         (value.is_list() && value.elements().empty());
      const bool nothing = !json_.has(key) || empty || value.describe() == "false";
      if (!nothing && !seen_.contains(key) && !is_harmless(key)) refuse(key);
    }
    if (!refused_.empty()) json_.fail("requires features that Gradus lacks:" + refused_);
  }

 private:
  const std::string& seen(const std::string& key) { return *seen_.insert(key).first; }
  const Json& json_;
  std::set<std::string> seen_;
  std::string refused_;
};

/// Names of activations. config_of() writes the first name of each activation.
constexpr std::pair<const char*, nn::Activation> kActivations[] = {
    {"gelu", nn::Activation::gelu},           {"gelu_new", nn::Activation::gelu_tanh},
    {"gelu_fast", nn::Activation::gelu_tanh}, {"gelu_pytorch_tanh", nn::Activation::gelu_tanh},
    {"relu", nn::Activation::relu},           {"relu2", nn::Activation::relu2},
    {"silu", nn::Activation::silu},           {"swish", nn::Activation::silu}};

nn::Activation activation(Asked& config, const std::string& key) {
  const std::string name = config.text(key);
  for (const auto& [known, value] : kActivations)
    if (name == known) return value;
  config.refuse(key);
  return nn::Activation::gelu;
}

const char* name_of(nn::Activation activation) {
  for (const auto& [name, known] : kActivations)
    if (activation == known) return name;
  fail<ValueError>("config_of: cannot write swiglu without rotary positions and RMS norms. ",
                   "Use all three, or another activation.");
}

const std::map<std::string, const char*> kLlamas = {{"llama", "LlamaForCausalLM"},
                                                    {"mistral", "MistralForCausalLM"},
                                                    {"qwen2", "Qwen2ForCausalLM"},
                                                    {"qwen3", "Qwen3ForCausalLM"}};

constexpr std::int64_t kOpenLayersOfQwen = 28;  // default of max_window_layers

double rotary_base(Asked& config) {
  double base = config.number("rope_theta", 10000);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!config.has(key)) continue;
    const Json rope = config.at(key);
    base = rope.number("rope_theta", base);
    for (const auto& [name, value] : rope.members()) {
      const bool type = name == "rope_type" || name == "type";
      if (name != "rope_theta" && !(type && value.text() == "default")) config.refuse(key);
    }
  }
  return base;
}

nn::GPTOptions gpt2_options(Asked& config) {
  config.must_be("scale_attn_weights", true);
  nn::GPTOptions o{.vocab = config.as_int("vocab_size"),
                   .context = config.as_int("n_positions"),
                   .layers = config.as_int("n_layer"),
                   .block = {.width = config.as_int("n_embd"),
                             .heads = config.as_int("n_head"),
                             .activation = activation(config, "activation_function"),
                             .norm_eps = config.number("layer_norm_epsilon", 1e-5)}};
  if (config.has("n_inner")) o.block.hidden = config.as_int("n_inner");
  o.tied = config.as_bool("tie_word_embeddings", true);
  return o;
}

/// Returns the window of all layers, or 0 if they have none. Rejects mixtures. In Qwen models, the
/// first max_window_layers layers have no window unless layer_types is given.
std::int64_t window_of(Asked& config, const std::string& type, std::int64_t layers) {
  const bool used = config.as_bool("use_sliding_window", type == "mistral");
  const std::int64_t window = used ? config.as_int("sliding_window", 0) : 0;
  config.has("sliding_window");  // ignored without use_sliding_window
  const std::int64_t open =
      type == "mistral" ? 0 : config.as_int("max_window_layers", kOpenLayersOfQwen);
  if (!config.has("layer_types")) {
    if (window > 0 && 0 < open && open < layers) config.refuse("max_window_layers");
    return open < layers ? window : 0;
  }
  const std::string wanted = window > 0 ? "sliding_attention" : "full_attention";
  for (const Json& each : config.at("layer_types").elements())
    if (each.text() != wanted) {
      config.refuse("layer_types");
      break;
    }
  return window;
}

nn::GPTOptions llama_options(Asked& config, const std::string& type) {
  nn::GPTOptions o{.vocab = config.as_int("vocab_size"),
                   .context = config.as_int("max_position_embeddings"),
                   .layers = config.as_int("num_hidden_layers"),
                   .block = {.width = config.as_int("hidden_size"),
                             .heads = config.as_int("num_attention_heads"),
                             .hidden = config.as_int("intermediate_size"),
                             .bias = config.as_bool("mlp_bias", false),
                             .activation = nn::Activation::swiglu,
                             .norm_kind = nn::NormKind::rms,
                             .norm_eps = config.number("rms_norm_eps", 1e-6)}};
  config.must_say("hidden_act", "silu");
  o.block.kv_heads = config.as_int("num_key_value_heads", o.block.heads);
  nn::HeadOptions& head = o.block.head;
  head.position = nn::HeadPosition::rotary;
  head.rotary.base = rotary_base(config);
  if (config.has("head_dim")) head.width = config.as_int("head_dim");
  head.out_bias = config.as_bool("attention_bias", false);
  head.qkv_bias = *head.out_bias || type == "qwen2";
  if (type == "qwen3") head.qk_norm = o.block.norm_eps;
  if (type != "llama") o.window = window_of(config, type, o.layers);
  o.tied = config.as_bool("tie_word_embeddings", false);
  return o;
}

nn::BlockOptions encoder_block(Asked& config) {
  return {.width = config.as_int("hidden_size"),
          .heads = config.as_int("num_attention_heads"),
          .hidden = config.as_int("intermediate_size"),
          .activation = activation(config, "hidden_act"),
          .norm_eps = config.number("layer_norm_eps", 1e-12)};
}

/// The JSON text of a value in an object.
struct Field {
  std::string json;
  Field(std::nullptr_t) : json("null") {}
  Field(bool value) : json(value ? "true" : "false") {}
  Field(std::int64_t value) : json(std::to_string(value)) {}
  Field(double value) {
    append_json(json, value);
    if (json.find_first_of(".e") == std::string::npos) json += ".0";
  }
  Field(const std::string& text) { append_json(json, text); }
  Field(const char* text) { append_json(json, text); }
};

/// An object, written as text because nlohmann::json may end the program if memory runs out.
class Written {
 public:
  Written(std::initializer_list<std::pair<std::string, Field>> fields = {}) : fields_(fields) {}
  void add(const std::string& key, const Field& field) { fields_.emplace_back(key, field); }
  std::string text(const std::string& indent = "") const {
    std::string out = "{";
    for (const auto& [key, field] : fields_) {
      out += (out.size() > 1 ? ",\n" : "\n") + indent + "  ";
      append_json(out, key);
      out += ": " + field.json;
    }
    return out + (fields_.empty() ? "}" : "\n" + indent + "}");
  }

 private:
  std::vector<std::pair<std::string, Field>> fields_;
};

Field list_of(const std::string& text) {
  Field list = text;
  list.json = "[\n    " + list.json + "\n  ]";
  return list;
}

/// True for options with as many key heads as query heads, the default head width, biases and layer
/// norms.
bool is_plain(const nn::BlockOptions& o) {
  return o.norm_kind == nn::NormKind::layer && o.kv_heads.value_or(o.heads) == o.heads && o.bias &&
         o.head.position == nn::HeadPosition::none && !o.head.width && !o.head.qk_norm &&
         o.head.qkv_bias.value_or(true) && o.head.out_bias.value_or(true);
}

Written gpt2_config(const nn::GPTOptions& o) {
  const nn::BlockOptions block = nn::with_defaults(o.block);
  require(
      is_plain(block) && block.norm == nn::NormPlacement::pre && o.window == 0 &&
          o.embedding_factor == 1,
      "config_of: a GPT with learned positions is written as gpt2, which requires pre-norm blocks ",
      "with layer norms, biases, as many key heads as query heads, and no window. ",
      "For the llama format, use --positions rotary --norm rms --activation swiglu.");
  return {{"model_type", "gpt2"},
          {"architectures", list_of("GPT2LMHeadModel")},
          {"vocab_size", o.vocab},
          {"n_positions", o.context},
          {"n_embd", block.width},
          {"n_layer", o.layers},
          {"n_head", block.heads},
          {"n_inner", block.hidden.value_or(4 * block.width)},
          {"activation_function", name_of(*block.activation)},
          {"layer_norm_epsilon", block.norm_eps},
          {"tie_word_embeddings", o.tied}};
}

std::string llama_type(const nn::GPTOptions& o) {
  const bool bias = o.block.bias;
  const nn::HeadOptions& head = o.block.head;
  const bool qkv = head.qkv_bias.value_or(bias), out = head.out_bias.value_or(bias);
  const bool llama = o.window == 0 && !head.qk_norm && qkv == out;
  if (llama) return "llama";
  if (!bias && !qkv && !out && !head.qk_norm) return "mistral";
  if (!bias && !out && !head.qk_norm) return "qwen2";
  if (!bias && qkv == out && head.qk_norm == o.block.norm_eps) return "qwen3";
  fail<ValueError>(
      "config_of: none of llama, mistral, qwen2 and qwen3 combines these biases, this window and ",
      "these norms of queries and keys");
}

Written llama_config(const nn::GPTOptions& o) {
  const nn::BlockOptions block = nn::with_defaults(o.block);
  require(block.head.position == nn::HeadPosition::rotary && block.norm_kind == nn::NormKind::rms &&
              block.activation == nn::Activation::swiglu && block.norm == nn::NormPlacement::pre &&
              !block.head.rotary.interleaved && o.embedding_factor == 1,
          "config_of: a GPT with rotary positions is written as llama, which requires pre-norm ",
          "blocks with RMS norms, swiglu (--activation), and rotary pairs half a head apart");
  const std::string type = llama_type(o);
  Written config = {{"model_type", type},
                    {"architectures", list_of(kLlamas.at(type))},
                    {"vocab_size", o.vocab},
                    {"max_position_embeddings", o.context},
                    {"hidden_size", block.width},
                    {"intermediate_size", block.hidden.value_or(4 * block.width)},
                    {"num_hidden_layers", o.layers},
                    {"num_attention_heads", block.heads},
                    {"num_key_value_heads", block.kv_heads.value_or(block.heads)},
                    {"head_dim", block.head.width.value_or(block.width / block.heads)},
                    {"hidden_act", "silu"},
                    {"rms_norm_eps", block.norm_eps},
                    {"rope_theta", block.head.rotary.base},
                    {"tie_word_embeddings", o.tied}};
  if (type == "llama") config.add("mlp_bias", block.bias);
  if (type == "llama" || type == "qwen3")
    config.add("attention_bias", block.head.out_bias.value_or(block.bias));
  if (o.window > 0) config.add("sliding_window", o.window);
  if (type != "llama" && type != "mistral") {
    config.add("use_sliding_window", o.window > 0);
    config.add("max_window_layers", o.window > 0 ? 0 : o.layers);  // earlier layers have no window
  }
  return config;
}

Field labels(std::int64_t classes) {
  Written names;
  for (std::int64_t i = 0; i < classes; ++i) names.add(std::to_string(i), str_cat("LABEL_", i));
  Field field = nullptr;
  field.json = names.text("  ");
  return field;
}

std::string text_of(const Written& config) { return config.text() + "\n"; }

}  // namespace

nn::GPTOptions gpt_options(const Json& config) {
  const std::string type = config.at("model_type").text();
  if (type != "gpt2" && !kLlamas.contains(type))
    config.at("model_type")
        .fail(str_cat("must be gpt2, llama, mistral, qwen2 or qwen3 for a GPT, got ", quote(type)));
  Asked asked(config);
  nn::GPTOptions options = type == "gpt2" ? gpt2_options(asked) : llama_options(asked, type);
  asked.finish();
  return options;
}

nn::BERTOptions bert_options(const Json& config) {
  const std::string type = config.at("model_type").text();
  if (type != "bert" && type != "albert")
    config.at("model_type").fail(str_cat("must be bert or albert, got ", quote(type)));
  Asked asked(config);
  nn::BERTOptions o{.vocab = asked.as_int("vocab_size"),
                    .context = asked.as_int("max_position_embeddings"),
                    .layers = asked.as_int("num_hidden_layers"),
                    .block = encoder_block(asked),
                    .segments = asked.as_int("type_vocab_size", 2),
                    .padding_idx = asked.is_null("pad_token_id")
                                       ? std::nullopt
                                       : std::optional(asked.as_int("pad_token_id", 0))};
  asked.must_say("position_embedding_type", "absolute");
  asked.must_be("tie_word_embeddings", true);
  if (type == "albert") {
    o.embedding_width = asked.as_int("embedding_size");
    o.shared = true;
    for (const char* key : {"num_hidden_groups", "inner_group_num"})
      if (asked.as_int(key, 1) != 1) asked.refuse(key);
  }
  asked.finish();
  return o;
}

nn::VisionTransformerOptions vision_transformer_options(const Json& config, std::int64_t classes) {
  const std::string type = config.at("model_type").text();
  if (type != "vit") config.at("model_type").fail(str_cat("must be vit, got ", quote(type)));
  Asked asked(config);
  nn::VisionTransformerOptions o{.size = asked.as_int("image_size"),
                                 .patch = asked.as_int("patch_size"),
                                 .channels = asked.as_int("num_channels", 3),
                                 .classes = classes,
                                 .layers = asked.as_int("num_hidden_layers"),
                                 .block = encoder_block(asked)};
  asked.must_be("qkv_bias", true);
  asked.finish();
  return o;
}

std::string config_of(const nn::GPTOptions& options) {
  return text_of(options.learns_positions() ? gpt2_config(options) : llama_config(options));
}

std::string config_of(const nn::BERTOptions& o, const std::string& architecture,
                      std::int64_t classes) {
  const nn::BlockOptions block =
      nn::with_defaults(o.block, nn::Activation::gelu, nn::NormPlacement::post);
  require(block.norm == nn::NormPlacement::post, "config_of: BERT requires post-norm blocks");
  require(is_plain(block), "config_of: BERT requires layer norms, biases, and as many key heads ",
          "as query heads");
  require(o.shared == o.embedding_width.has_value(),
          "config_of: albert shares one block and projects its embeddings, and bert does neither, ",
          "but this model does only one. Set both options, or neither.");
  Written config = {{"model_type", o.shared ? "albert" : "bert"},
                    {"architectures", list_of(architecture)},
                    {"vocab_size", o.vocab},
                    {"max_position_embeddings", o.context},
                    {"num_hidden_layers", o.layers},
                    {"num_attention_heads", block.heads},
                    {"hidden_size", block.width},
                    {"intermediate_size", block.hidden.value_or(4 * block.width)},
                    {"type_vocab_size", o.segments},
                    {"hidden_act", name_of(*block.activation)},
                    {"layer_norm_eps", block.norm_eps}};
  if (o.shared) config.add("embedding_size", *o.embedding_width);
  if (classes > 0) config.add("id2label", labels(classes));
  if (o.padding_idx)
    config.add("pad_token_id", *o.padding_idx);
  else
    config.add("pad_token_id", nullptr);
  return text_of(config);
}

std::string config_of(const nn::VisionTransformerOptions& o) {
  const nn::BlockOptions block = nn::with_defaults(o.block);
  require(
      is_plain(block) && block.norm == nn::NormPlacement::pre,
      "config_of: ViT requires pre-norm blocks with layer norms, biases, and as many key heads ",
      "as query heads");
  return text_of({{"model_type", "vit"},
                  {"architectures", list_of("ViTForImageClassification")},
                  {"image_size", o.size},
                  {"patch_size", o.patch},
                  {"num_channels", o.channels},
                  {"num_hidden_layers", o.layers},
                  {"num_attention_heads", block.heads},
                  {"hidden_size", block.width},
                  {"intermediate_size", block.hidden.value_or(4 * block.width)},
                  {"hidden_act", name_of(*block.activation)},
                  {"layer_norm_eps", block.norm_eps},
                  {"qkv_bias", true},
                  {"id2label", labels(o.classes)}});
}

}  // namespace gradus::io
