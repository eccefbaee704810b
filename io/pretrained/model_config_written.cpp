// config.json of models of ours, and the options of GGUF files.
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "gradus/engine/base/error.h"
#include "gradus/io/pretrained/model_config.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

using Written = nlohmann::ordered_json;

std::string activation_of(nn::Activation activation) {
  switch (activation) {
    case nn::Activation::gelu:
      return "gelu";
    case nn::Activation::gelu_tanh:
      return "gelu_new";
    case nn::Activation::relu:
      return "relu";
    case nn::Activation::silu:
      return "silu";
    case nn::Activation::swiglu:
      break;
  }
  fail<ValueError>("config_of: swiglu is written for models with rotary positions and RMS norms ",
                   "only: no other family has it");
}

/// As many heads of keys as of queries, of their usual width, biases and layer norms everywhere.
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
      "config_of: a GPT with learned positions is written as gpt2, which has layer norms before ",
      "its branches, biases, as many heads of keys as of queries, and no window: ",
      "this one differs (--positions rotary --norm rms --activation swiglu is written as llama)");
  return {{"model_type", "gpt2"},
          {"architectures", {"GPT2LMHeadModel"}},
          {"vocab_size", o.vocab},
          {"n_positions", o.context},
          {"n_embd", block.width},
          {"n_layer", o.layers},
          {"n_head", block.heads},
          {"n_inner", block.hidden.value_or(4 * block.width)},
          {"activation_function", activation_of(*block.activation)},
          {"layer_norm_epsilon", block.norm_eps},
          {"tie_word_embeddings", o.tied}};
}

/// Which of Llama's relatives has these options.
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
      "config_of: none of llama, mistral, qwen2 and qwen3 has these biases, window and ",
      "norms of queries and keys together");
}

Written llama_config(const nn::GPTOptions& o) {
  const nn::BlockOptions block = nn::with_defaults(o.block);
  require(block.head.position == nn::HeadPosition::rotary && block.norm_kind == nn::NormKind::rms &&
              block.activation == nn::Activation::swiglu && block.norm == nn::NormPlacement::pre &&
              !block.head.rotary.interleaved && o.embedding_factor == 1,
          "config_of: a GPT with rotary positions is written as llama, which has RMS norms before ",
          "its branches, swiglu, and pairs half a head apart: this one differs");
  static const std::map<std::string, const char*> classes = {{"llama", "LlamaForCausalLM"},
                                                             {"mistral", "MistralForCausalLM"},
                                                             {"qwen2", "Qwen2ForCausalLM"},
                                                             {"qwen3", "Qwen3ForCausalLM"}};
  const std::string type = llama_type(o);
  Written config = {{"model_type", type},
                    {"architectures", {classes.at(type)}},
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
  if (type == "llama") config["mlp_bias"] = block.bias;
  if (type == "llama" || type == "qwen3")
    config["attention_bias"] = block.head.out_bias.value_or(block.bias);
  if (o.window > 0) config["sliding_window"] = o.window;
  if (type != "llama" && type != "mistral") {
    config["use_sliding_window"] = o.window > 0;
    config["max_window_layers"] = o.window > 0 ? 0 : o.layers;  // those before it see all
  }
  return config;
}

/// Names for classes, which tell `transformers` how many there are.
Written labels(std::int64_t classes) {
  Written names = Written::object();
  for (std::int64_t i = 0; i < classes; ++i) names[std::to_string(i)] = str_cat("LABEL_", i);
  return names;
}

std::string text_of(const Written& config) { return config.dump(2) + "\n"; }

/// GGUF's keys of one architecture: "llama.block_count".
class Facts {
 public:
  Facts(const std::map<std::string, Fact>& facts, std::string name)
      : facts_(facts), name_(std::move(name)) {
    architecture = get<std::string>("general.architecture", nullptr);
  }
  std::int64_t as_int(const char* key, const std::int64_t* otherwise = nullptr) {
    return get(architecture + "." + key, otherwise);
  }
  double number(const char* key, const double* otherwise = nullptr) {
    return get(architecture + "." + key, otherwise);
  }
  /// FileError names what the architecture's keys say beside those that were asked for.
  void finish() const {
    std::string left;
    for (const auto& [key, value] : facts_)
      if (key.starts_with(architecture + ".") && !asked_.contains(key)) left += "\n  " + key;
    require<FileError>(left.empty(), name_, ": asks for what Gradus does not have:", left);
  }

  std::string architecture;

 private:
  template <class T>
  T get(const std::string& key, const T* otherwise) {
    asked_.insert(key);
    const auto found = facts_.find(key);
    if (found == facts_.end() && otherwise) return *otherwise;
    require<FileError>(found != facts_.end(), name_, ": the key ", quote(key), " is missing");
    const T* value = std::get_if<T>(&found->second);
    require<FileError>(value != nullptr, name_, ": ", quote(key), " has another type");
    return *value;
  }
  const std::map<std::string, Fact>& facts_;
  std::string name_;
  std::set<std::string> asked_;
};

}  // namespace

nn::GPTOptions gguf_options(const std::map<std::string, Fact>& given, const std::string& name) {
  Facts facts(given, name);
  const std::string& type = facts.architecture;
  require<FileError>(type == "llama" || type == "qwen2" || type == "qwen3", name,
                     ": the architecture is ", quote(type),
                     ": those that Gradus knows are llama, qwen2 and qwen3");
  nn::GPTOptions o{
      .context = facts.as_int("context_length"),
      .layers = facts.as_int("block_count"),
      .block = {.width = facts.as_int("embedding_length"),
                .heads = facts.as_int("attention.head_count"),
                .hidden = facts.as_int("feed_forward_length"),
                .bias = false,
                .activation = nn::Activation::swiglu,
                .norm_kind = nn::NormKind::rms,
                .norm_eps = facts.number("attention.layer_norm_rms_epsilon"),
                .head = {.position = nn::HeadPosition::rotary, .qkv_bias = type == "qwen2"}}};
  const std::int64_t heads = o.block.heads;
  require<FileError>(heads > 0, name, ": ", heads, " heads");
  const double base = 10000;
  o.block.kv_heads = facts.as_int("attention.head_count_kv", &heads);
  nn::HeadOptions& head = o.block.head;
  head.rotary.base = facts.number("rope.freq_base", &base);
  const std::int64_t narrow = o.block.width / heads;
  const std::int64_t D = facts.as_int("attention.key_length", &narrow);
  head.width = D;
  for (const char* key : {"attention.value_length", "rope.dimension_count"})
    require<FileError>(facts.as_int(key, &D) == D, name, ": ", type, ".", key, " is ",
                       facts.as_int(key, &D), ", but a head is ", D, " wide: they must agree");
  facts.as_int("vocab_size", &o.vocab);  // the embedding says it too
  if (type == "qwen3") head.qk_norm = o.block.norm_eps;
  facts.finish();
  return o;
}

std::string config_of(const nn::GPTOptions& options) {
  return text_of(options.learns_positions() ? gpt2_config(options) : llama_config(options));
}

std::string config_of(const nn::BERTOptions& o, const std::string& architecture,
                      std::int64_t classes) {
  const nn::BlockOptions block =
      nn::with_defaults(o.block, nn::Activation::gelu, nn::NormPlacement::post);
  require(block.norm == nn::NormPlacement::post, "config_of: BERT's norms come after its branches");
  require(is_plain(block), "config_of: BERT has layer norms, biases, and as many heads of keys as ",
          "of queries: this one differs");
  require(o.shared == o.embedding_width.has_value(),
          "config_of: albert shares one block and projects its embeddings, bert neither: ",
          "this model has one of both");
  Written config = {{"model_type", o.shared ? "albert" : "bert"},
                    {"architectures", {architecture}},
                    {"vocab_size", o.vocab},
                    {"max_position_embeddings", o.context},
                    {"num_hidden_layers", o.layers},
                    {"num_attention_heads", block.heads},
                    {"hidden_size", block.width},
                    {"intermediate_size", block.hidden.value_or(4 * block.width)},
                    {"type_vocab_size", o.segments},
                    {"hidden_act", activation_of(*block.activation)},
                    {"layer_norm_eps", block.norm_eps}};
  if (o.shared) config["embedding_size"] = *o.embedding_width;
  if (classes > 0) config["id2label"] = labels(classes);
  if (o.padding_idx)
    config["pad_token_id"] = *o.padding_idx;
  else
    config["pad_token_id"] = nullptr;
  return text_of(config);
}

std::string config_of(const nn::VisionTransformerOptions& o) {
  const nn::BlockOptions block = nn::with_defaults(o.block);
  require(is_plain(block) && block.norm == nn::NormPlacement::pre,
          "config_of: ViT has layer norms before its branches, biases, and as many heads of keys ",
          "as of queries: this one differs");
  return text_of({{"model_type", "vit"},
                  {"architectures", {"ViTForImageClassification"}},
                  {"image_size", o.size},
                  {"patch_size", o.patch},
                  {"num_channels", o.channels},
                  {"num_hidden_layers", o.layers},
                  {"num_attention_heads", block.heads},
                  {"hidden_size", block.width},
                  {"intermediate_size", block.hidden.value_or(4 * block.width)},
                  {"hidden_act", activation_of(*block.activation)},
                  {"layer_norm_eps", block.norm_eps},
                  {"qkv_bias", true},
                  {"id2label", labels(o.classes)}});
}

}  // namespace gradus::io
