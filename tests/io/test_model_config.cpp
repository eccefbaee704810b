// Configurations: each family's options as they are written and read back, and what is said where
// any key is missing or another: tests/golden/io/config.txt and configs_changed.txt.
#include "gradus/io/model_config.h"

#include <functional>
#include <sstream>

#include "gradus/tests/io/outcomes.h"

namespace gradus::testing {
namespace {

template <class T>
std::string shown(const T& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}
template <class T>
std::string shown(const std::optional<T>& x) {
  return x ? shown(*x) : "none";
}

using Fields = std::vector<std::pair<std::string, std::string>>;

Fields fields(const nn::GPTOptions& o) {
  return {{"vocab", shown(o.vocab)},
          {"context", shown(o.context)},
          {"layers", shown(o.layers)},
          {"heads", shown(o.heads)},
          {"width", shown(o.width)},
          {"norm", shown(static_cast<int>(o.norm))},
          {"norm_kind", shown(static_cast<int>(o.norm_kind))},
          {"activation", shown(static_cast<int>(o.activation))},
          {"kv_heads", shown(o.kv_heads)},
          {"position", shown(static_cast<int>(o.position))},
          {"window", shown(o.window)},
          {"hidden", shown(o.hidden)},
          {"norm_eps", shown(o.norm_eps)},
          {"base", shown(o.rotary.base)},
          {"interleaved", shown(o.rotary.interleaved)},
          {"head_width", shown(o.head_width)},
          {"bias", shown(o.bias)},
          {"qkv_bias", shown(o.qkv_bias)},
          {"out_bias", shown(o.out_bias)},
          {"qk_norm", shown(o.qk_norm)},
          {"tied", shown(o.tied)},
          {"embedding_factor", shown(o.embedding_factor)}};
}
Fields fields(const nn::BERTOptions& o) {
  return {{"vocab", shown(o.vocab)},
          {"context", shown(o.context)},
          {"layers", shown(o.layers)},
          {"heads", shown(o.heads)},
          {"width", shown(o.width)},
          {"segments", shown(o.segments)},
          {"hidden", shown(o.hidden)},
          {"activation", shown(static_cast<int>(o.activation))},
          {"norm_eps", shown(o.norm_eps)},
          {"padding_idx", shown(o.padding_idx)},
          {"embedding_width", shown(o.embedding_width)},
          {"shared", shown(o.shared)}};
}
Fields fields(const nn::VisionTransformerOptions& o) {
  return {{"size", shown(o.size)},
          {"patch", shown(o.patch)},
          {"channels", shown(o.channels)},
          {"classes", shown(o.classes)},
          {"layers", shown(o.layers)},
          {"heads", shown(o.heads)},
          {"width", shown(o.width)},
          {"hidden", shown(o.hidden)},
          {"activation", shown(static_cast<int>(o.activation))},
          {"norm_eps", shown(o.norm_eps)}};
}

/// Those that differ, as "name 1 → 2".
std::string difference(const Fields& before, const Fields& after) {
  std::string out;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i] != after[i])
      out += (out.empty() ? "" : ", ") + after[i].first + " " + before[i].second + " → " +
             after[i].second;
  return out.empty() ? "as before" : out;
}

io::Json parsed(const std::string& text) { return io::Json::parse(text, "c.json"); }

/// What is written of options, and what differs when that is read.
template <class Options, class Write, class Read>
std::string written(const std::string& name, const Options& options, Write write, Read read) {
  return "== " + name + "\n" + [&]() -> std::string {
    std::string text;
    const std::string refused = refusal<ValueError>([&] { text = write(options); });
    if (text.empty()) return refused + "\n";
    const Options again = read(parsed(text));
    return text + "read: " + difference(fields(options), fields(again)) +
           (write(again) == text ? "" : "; written anew it differs") + "\n";
  }();
}

nn::GPTOptions gpt2() { return {.vocab = 11, .context = 7, .layers = 3, .heads = 2, .width = 8}; }
nn::GPTOptions llama() {
  nn::GPTOptions o = gpt2();
  o.norm_kind = nn::NormKind::rms;
  o.activation = nn::Activation::swiglu;
  o.position = nn::HeadPosition::rotary;
  o.bias = false;
  return o;
}

using Change = std::pair<const char*, std::function<void(nn::GPTOptions&)>>;

const std::vector<Change>& changes() {
  static const std::vector<Change> all = {
      {"nothing", [](auto&) {}},
      {"norm after", [](auto& o) { o.norm = nn::NormPlacement::post; }},
      {"rms", [](auto& o) { o.norm_kind = nn::NormKind::rms; }},
      {"layer norms", [](auto& o) { o.norm_kind = nn::NormKind::layer; }},
      {"gelu", [](auto& o) { o.activation = nn::Activation::gelu; }},
      {"relu", [](auto& o) { o.activation = nn::Activation::relu; }},
      {"silu", [](auto& o) { o.activation = nn::Activation::silu; }},
      {"swiglu", [](auto& o) { o.activation = nn::Activation::swiglu; }},
      {"kv_heads 1", [](auto& o) { o.kv_heads = 1; }},
      {"kv_heads 2", [](auto& o) { o.kv_heads = 2; }},
      {"window", [](auto& o) { o.window = 3; }},
      {"hidden", [](auto& o) { o.hidden = 17; }},
      {"norm_eps", [](auto& o) { o.norm_eps = 3e-7; }},
      {"base", [](auto& o) { o.rotary.base = 500; }},
      {"interleaved", [](auto& o) { o.rotary.interleaved = true; }},
      {"head_width", [](auto& o) { o.head_width = 6; }},
      {"bias", [](auto& o) { o.bias = true; }},
      {"no bias", [](auto& o) { o.bias = false; }},
      {"qkv_bias", [](auto& o) { o.qkv_bias = true; }},
      {"no qkv_bias", [](auto& o) { o.qkv_bias = false; }},
      {"out_bias", [](auto& o) { o.out_bias = true; }},
      {"no out_bias", [](auto& o) { o.out_bias = false; }},
      {"qk_norm as norm_eps", [](auto& o) { o.qk_norm = o.norm_eps; }},
      {"qk_norm", [](auto& o) { o.qk_norm = 0.5; }},
      {"untied", [](auto& o) { o.tied = false; }},
      {"embedding_factor", [](auto& o) { o.embedding_factor = 2; }}};
  return all;
}

std::string gpts() {
  std::string out;
  for (const auto& base : {gpt2(), llama()})
    for (const auto& [name, change] : changes()) {
      nn::GPTOptions options = base;
      change(options);
      out += written(
          name, options, [](const auto& o) { return io::config_of(o); }, io::gpt_options);
    }
  return out;
}

/// Biases, a window and norms of queries and keys in each combination: which relative of llama?
std::string relatives() {
  std::string out;
  for (int i = 0; i < 96; ++i) {
    nn::GPTOptions o = llama();
    o.bias = i & 1;
    if (i & 2) o.qkv_bias = !o.bias;
    if (i & 4) o.out_bias = !o.bias;
    if (i & 8) o.window = 5;
    if (i / 16 % 3 > 0) o.qk_norm = i / 16 % 3 == 1 ? o.norm_eps : 0.5;
    out += "bias " + shown(o.bias) + " " + shown(o.qkv_bias) + " " + shown(o.out_bias) +
           ", window " + shown(o.window) + ", qk_norm " + shown(o.qk_norm) + ": " + outcome_of([&] {
             const Document config = Document::parse(io::config_of(o));
             std::string keys;
             for (const char* key : {"model_type", "mlp_bias", "attention_bias", "sliding_window",
                                     "use_sliding_window", "max_window_layers"})
               if (config.contains(key)) keys += config.at(key).dump() + " ";
             return keys + difference(fields(o), fields(io::gpt_options(parsed(config.dump()))));
           }) +
           "\n";
  }
  return out;
}

std::string others() {
  std::string out;
  const auto bert = [&](const char* name, auto change, std::int64_t classes = 0) {
    nn::BERTOptions o{.vocab = 11, .context = 7, .layers = 3, .heads = 2, .width = 8};
    change(o);
    out += written(
        name, o, [&](const auto& x) { return io::config_of(x, "BertForThis", classes); },
        io::bert_options);
  };
  bert("bert", [](auto&) {});
  bert(
      "three classes", [](auto&) {}, 3);
  bert(
      "one class", [](auto&) {}, 1);
  bert("hidden", [](auto& o) { o.hidden = 9; });
  bert("segments", [](auto& o) { o.segments = 5, o.norm_eps = 0.25; });
  bert("relu", [](auto& o) { o.activation = nn::Activation::relu; });
  bert("swiglu", [](auto& o) { o.activation = nn::Activation::swiglu; });
  bert("norms before", [](auto& o) { o.norm = nn::NormPlacement::pre; });
  bert("padding", [](auto& o) { o.padding_idx = 4; });
  bert("no padding", [](auto& o) { o.padding_idx = std::nullopt; });
  bert("shared alone", [](auto& o) { o.shared = true; });
  bert("narrow embedding alone", [](auto& o) { o.embedding_width = 4; });
  bert("albert", [](auto& o) { o.shared = true, o.embedding_width = 4; });
  const auto vit = [&](const char* name, auto change) {
    nn::VisionTransformerOptions o{
        .size = 8, .patch = 4, .classes = 3, .layers = 2, .heads = 2, .width = 8};
    change(o);
    out += written(
        name, o, [](const auto& x) { return io::config_of(x); },
        [&](const io::Json& json) { return io::vision_transformer_options(json, o.classes); });
  };
  vit("vit", [](auto&) {});
  vit("hidden", [](auto& o) { o.hidden = 9, o.channels = 1, o.classes = 1, o.norm_eps = 0.5; });
  vit("no classes", [](auto& o) { o.classes = 0; });
  return out;
}

const std::vector<std::string> kValues = {"null",
                                          "0",
                                          "1",
                                          "2",
                                          "0.5",
                                          "\"x\"",
                                          "\"silu\"",
                                          "true",
                                          "false",
                                          "[]",
                                          "[1]",
                                          "{}",
                                          R"({"rope_theta":5,"rope_type":"default"})",
                                          R"({"type":"default","factor":2})",
                                          R"({"type":"linear"})",
                                          R"(["sliding_attention"])",
                                          R"(["full_attention","full_attention"])"};

const char* const kMore = R"({"unknown":null,"torch_dtype":"f32","rope_scaling":null,
    "rope_parameters":null,"layer_types":null,"use_sliding_window":false,"sliding_window":null,
    "position_embedding_type":null,"scale_attn_weights":null})";

template <class Read>
std::string changed(const std::string& name, const std::string& config, const char* more,
                    Read read) {
  Document base = Document::parse(config);
  base.update(Document::parse(more));
  const Fields before = fields(read(parsed(base.dump())));
  return "== " + name + "\n" + every_change(base, kValues, "", [&](const std::string& text) {
           return difference(before, fields(read(parsed(text))));
         });
}

}  // namespace

TEST_CASE("configurations are written as in golden/io/config.txt, and read back") {
  check_golden("io/config.txt", gpts() + relatives() + others());
}

TEST_CASE("configurations with one key changed give golden/io/configs_changed.txt") {
  nn::GPTOptions mistral = llama();
  mistral.window = 2;
  const std::string out =
      changed("gpt2", io::config_of(gpt2()), kMore, io::gpt_options) +
      changed("llama", io::config_of(llama()), kMore, io::gpt_options) +
      changed("mistral", io::config_of(mistral), R"({"layer_types":null})", io::gpt_options);
  check_golden("io/configs_changed.txt", out);
}

TEST_CASE("configurations of others with one key changed give golden/io/configs_changed_more.txt") {
  nn::GPTOptions qwen2 = llama(), qwen3 = llama();
  qwen2.qkv_bias = true;
  qwen3.qk_norm = qwen3.norm_eps;
  std::string out;
  out += changed("qwen2", io::config_of(qwen2), R"({"layer_types":null})", io::gpt_options);
  out += changed("qwen3", io::config_of(qwen3), "{}", io::gpt_options);
  const nn::BERTOptions bert{.vocab = 11, .context = 7, .layers = 3, .heads = 2, .width = 8};
  nn::BERTOptions albert = bert;
  albert.shared = true, albert.embedding_width = 4;
  out += changed("bert", io::config_of(bert, "B"), kMore, io::bert_options);
  out += changed("albert", io::config_of(albert, "A"),
                 R"({"num_hidden_groups":1,"inner_group_num":1,"tie_word_embeddings":true})",
                 io::bert_options);
  const nn::VisionTransformerOptions vit{
      .size = 8, .patch = 4, .classes = 3, .layers = 2, .heads = 2, .width = 8};
  out += changed("vit", io::config_of(vit), "{}",
                 [](const io::Json& json) { return io::vision_transformer_options(json, 3); });
  check_golden("io/configs_changed_more.txt", out);
}

TEST_CASE("what a GGUF file says of its model gives golden/io/gguf_options.txt") {
  using Facts = std::map<std::string, io::Fact>;
  const auto facts_of = [](const std::string& type) {
    return Facts{{"general.architecture", type},
                 {type + ".context_length", std::int64_t{7}},
                 {type + ".block_count", std::int64_t{3}},
                 {type + ".attention.head_count", std::int64_t{2}},
                 {type + ".attention.head_count_kv", std::int64_t{1}},
                 {type + ".embedding_length", std::int64_t{8}},
                 {type + ".feed_forward_length", std::int64_t{17}},
                 {type + ".attention.layer_norm_rms_epsilon", 0.25},
                 {type + ".rope.freq_base", 500.0},
                 {type + ".attention.key_length", std::int64_t{6}},
                 {type + ".attention.value_length", std::int64_t{6}},
                 {type + ".rope.dimension_count", std::int64_t{6}},
                 {type + ".vocab_size", std::int64_t{11}},
                 {"general.name", std::string("x")}};
  };
  std::string out;
  for (const std::string type : {"llama", "qwen2", "qwen3", "mamba"}) {
    const Facts base = facts_of(type);
    Fields before = fields(nn::GPTOptions{});
    const auto read = [&](const Facts& facts) {
      return outcome_of(
          [&] { return difference(before, fields(io::gguf_options(facts, "m.gguf"))); });
    };
    out += "== " + type + ": " + read(base) + "\n";
    if (type == "mamba") break;
    before = fields(io::gguf_options(base, "m.gguf"));
    Facts more = base;
    more[type + ".rope.scaling"] = std::int64_t{2};
    more[type + "x.rope.scaling"] = std::int64_t{2};
    out += "more: " + read(more) + "\n";
    for (const auto& [key, value] : base) {
      Outcomes outcomes;
      Facts changed = base;
      changed.erase(key);
      outcomes.add("gone", read(changed));
      const std::pair<const char*, io::Fact> others[] = {
          {"0", std::int64_t{0}}, {"-1", std::int64_t{-1}}, {"4", std::int64_t{4}},
          {"0.5", 0.5},           {"x", std::string("x")},  {"true", true}};
      for (const auto& [name, other] : others) {
        changed[key] = other;
        outcomes.add(name, read(changed));
      }
      out += key + "\n" + outcomes.text();
    }
  }
  check_golden("io/gguf_options.txt", out);
}

}  // namespace gradus::testing
