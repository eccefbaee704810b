#include "gradus/io/pretrained/model_config.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <tuple>

#include "gradus/tests/io/files.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_model_config {
namespace {

using Document = nlohmann::ordered_json;
using Fields = std::vector<double>;

double number(double x) { return x; }
double number(bool x) { return x; }
double number(std::int64_t x) { return static_cast<double>(x); }
template <class E>
requires std::is_enum_v<E>
double number(E x) { return static_cast<double>(x); }

template <class... T>
Fields fields_of(const T&... x) {
  return {number(x)...};
}

/// Returns all options with their defaults resolved.
Fields fields(const nn::GPTOptions& o) {
  const nn::BlockOptions b = nn::with_defaults(o.block);
  const nn::HeadOptions& head = b.head;
  const bool rotary = head.position == nn::HeadPosition::rotary;
  return fields_of(o.vocab, o.context, o.layers, b.heads, b.width, *b.norm, b.norm_kind,
                   *b.activation, b.kv_heads.value_or(b.heads), head.position, o.window,
                   b.hidden.value_or(4 * b.width), b.norm_eps, rotary ? head.rotary.base : 0,
                   rotary && head.rotary.interleaved, head.width.value_or(b.width / b.heads),
                   head.qkv_bias.value_or(b.bias), head.out_bias.value_or(b.bias), b.bias,
                   head.qk_norm.value_or(-1), o.tied, o.embedding_factor);
}
Fields fields(const nn::BERTOptions& o) {
  const nn::BlockOptions b =
      nn::with_defaults(o.block, nn::Activation::gelu, nn::NormPlacement::post);
  return fields_of(o.vocab, o.context, o.layers, b.heads, b.width, o.segments,
                   b.hidden.value_or(4 * b.width), *b.activation, *b.norm, b.norm_eps,
                   o.padding_idx.value_or(-1), o.embedding_width.value_or(b.width), o.shared);
}
Fields fields(const nn::VisionTransformerOptions& o) {
  const nn::BlockOptions b = nn::with_defaults(o.block);
  return fields_of(o.size, o.patch, o.channels, o.classes, o.layers, b.heads, b.width,
                   b.hidden.value_or(4 * b.width), *b.activation, b.norm_eps);
}

io::Json parsed(const std::string& text) { return io::Json::parse(text, "c.json"); }

nn::GPTOptions gpt2() {
  return {.vocab = 11, .context = 7, .layers = 3, .block = {.width = 8, .heads = 2}};
}
nn::GPTOptions llama() {
  nn::GPTOptions o = gpt2();
  o.block.norm_kind = nn::NormKind::rms;
  o.block.activation = nn::Activation::swiglu;
  o.block.head.position = nn::HeadPosition::rotary;
  o.block.bias = false;
  return o;
}
nn::BERTOptions bert() {
  return {.vocab = 11, .context = 7, .layers = 3, .block = {.width = 8, .heads = 2}};
}
nn::VisionTransformerOptions vit() {
  return {.size = 8, .patch = 4, .classes = 3, .layers = 2, .block = {.width = 8, .heads = 2}};
}

/// Returns true after a successful round trip, and false if `write` throws a ValueError of
/// config_of.
template <class Options, class Write, class Read>
bool check_round_trip(const Options& options, Write write, Read read) {
  std::string text;
  try {
    text = write(options);
  } catch (const ValueError& error) {
    CHECK(contains(error.what(), "config_of"));
    return false;
  }
  INFO(text);
  CHECK(fields(read(parsed(text))) == fields(options));
  return true;
}

bool check_gpt(const nn::GPTOptions& options) {
  return check_round_trip(
      options, [](const auto& o) { return io::config_of(o); }, io::gpt_options);
}

}  // namespace

TEST_CASE("GPT options are restored from their configuration or rejected") {
  using Change = std::function<void(nn::GPTOptions&)>;
  const std::vector<Change> changes = {[](auto&) {},
                                       [](auto& o) { o.block.norm = nn::NormPlacement::post; },
                                       [](auto& o) { o.block.norm_kind = nn::NormKind::rms; },
                                       [](auto& o) { o.block.norm_kind = nn::NormKind::layer; },
                                       [](auto& o) { o.block.activation = nn::Activation::gelu; },
                                       [](auto& o) { o.block.activation = nn::Activation::relu; },
                                       [](auto& o) { o.block.activation = nn::Activation::relu2; },
                                       [](auto& o) { o.block.activation = nn::Activation::silu; },
                                       [](auto& o) { o.block.activation = nn::Activation::swiglu; },
                                       [](auto& o) { o.block.kv_heads = 1; },
                                       [](auto& o) { o.block.kv_heads = 2; },
                                       [](auto& o) { o.window = 3; },
                                       [](auto& o) { o.window = 1; },
                                       [](auto& o) { o.block.hidden = 17; },
                                       [](auto& o) { o.block.norm_eps = 3e-7; },
                                       [](auto& o) { o.block.head.rotary.base = 500; },
                                       [](auto& o) { o.block.head.rotary.interleaved = true; },
                                       [](auto& o) { o.block.head.width = 6; },
                                       [](auto& o) { o.block.bias = true; },
                                       [](auto& o) { o.block.bias = false; },
                                       [](auto& o) { o.block.head.qkv_bias = true; },
                                       [](auto& o) { o.block.head.qkv_bias = false; },
                                       [](auto& o) { o.block.head.out_bias = true; },
                                       [](auto& o) { o.block.head.out_bias = false; },
                                       [](auto& o) { o.block.head.qk_norm = o.block.norm_eps; },
                                       [](auto& o) { o.block.head.qk_norm = 0.5; },
                                       [](auto& o) { o.tied = false; },
                                       [](auto& o) { o.embedding_factor = 2; }};
  int written = 0;
  for (const auto& base : {gpt2(), llama()})
    for (const Change& change : changes) {
      nn::GPTOptions options = base;
      change(options);
      written += check_gpt(options);
    }
  CHECK(check_gpt(gpt2()));
  CHECK(check_gpt(llama()));
  CHECK(written > 20);
}

TEST_CASE("the configuration of each family has the family's type, class and window") {
  const auto written = [](const nn::GPTOptions& o) { return Document::parse(io::config_of(o)); };
  nn::GPTOptions mistral = llama(), qwen2 = llama(), qwen3 = llama();
  mistral.window = 3, qwen2.block.head.qkv_bias = true, qwen2.window = 3,
  qwen3.block.head.qk_norm = qwen3.block.norm_eps;
  const std::tuple<nn::GPTOptions, const char*, const char*> families[] = {
      {gpt2(), "gpt2", "GPT2LMHeadModel"},
      {llama(), "llama", "LlamaForCausalLM"},
      {mistral, "mistral", "MistralForCausalLM"},
      {qwen2, "qwen2", "Qwen2ForCausalLM"},
      {qwen3, "qwen3", "Qwen3ForCausalLM"}};
  for (const auto& [options, type, name] : families) {
    const Document config = written(options);
    CHECK(config["model_type"] == type);
    CHECK(config["architectures"] == Document::array({name}));
  }
  CHECK(written(mistral)["sliding_window"] == 3);
  CHECK(written(qwen2)["use_sliding_window"] == true);
  CHECK(written(qwen2)["max_window_layers"] == 0);  // index of the first sliding layer
  CHECK(written(qwen3)["use_sliding_window"] == false);
}

TEST_CASE("keys missing from a configuration have the defaults of transformers") {
  const nn::GPTOptions g = io::gpt_options(
      parsed(R"({"model_type":"gpt2","vocab_size":11,"n_positions":7,"n_layer":3,"n_head":2,)"
             R"("n_embd":8,"activation_function":"gelu_new"})"));
  CHECK(g.block.hidden.value_or(4 * g.block.width) == 32);
  CHECK((g.block.norm_eps == 1e-5 && g.tied));
  const nn::GPTOptions l =
      io::gpt_options(parsed(R"({"model_type":"llama","vocab_size":11,"max_position_embeddings":7,)"
                             R"("num_hidden_layers":3,"num_attention_heads":2,"hidden_size":8,)"
                             R"("intermediate_size":6})"));
  CHECK(l.block.kv_heads == 2);
  CHECK((l.block.norm_eps == 1e-6 && l.block.head.rotary.base == 10000 && !l.tied));
  CHECK((!l.block.bias && l.block.head.out_bias == false && l.block.head.qkv_bias == false));
  const std::string more =
      R"("num_hidden_layers":3,"num_attention_heads":2,"hidden_size":8,"intermediate_size":6,)"
      R"("hidden_act":"gelu"})";
  const nn::BERTOptions b = io::bert_options(
      parsed(R"({"model_type":"bert","vocab_size":11,"max_position_embeddings":7,)" + more));
  CHECK((b.segments == 2 && b.block.norm_eps == 1e-12 && b.padding_idx == 0));
  const nn::VisionTransformerOptions v = io::vision_transformer_options(
      parsed(R"({"model_type":"vit","image_size":8,"patch_size":4,)" + more), 3);
  CHECK((v.channels == 3 && v.block.norm_eps == 1e-12));
}

TEST_CASE("each combination of biases, window and query norm belongs to a family or is rejected") {
  int written = 0;
  for (int i = 0; i < 96; ++i) {
    nn::GPTOptions o = llama();
    o.block.bias = i & 1;
    if (i & 2) o.block.head.qkv_bias = !o.block.bias;
    if (i & 4) o.block.head.out_bias = !o.block.bias;
    if (i & 8) o.window = 5;
    if (i / 16 % 3 > 0) o.block.head.qk_norm = i / 16 % 3 == 1 ? o.block.norm_eps : 0.5;
    CAPTURE(i);
    written += check_gpt(o);
  }
  CHECK(written >= 4);  // Llama, Mistral, Qwen2 and Qwen3 at least
}

TEST_CASE("BERT and ViT options are restored from their configuration or rejected") {
  const auto check_bert = [](auto change) {
    nn::BERTOptions o = bert();
    change(o);
    return check_round_trip(
        o, [](const auto& x) { return io::config_of(x, "BertForThis", 0); }, io::bert_options);
  };
  CHECK(check_bert([](auto&) {}));
  CHECK(check_bert([](auto& o) { o.block.hidden = 9; }));
  CHECK(check_bert([](auto& o) { o.segments = 5, o.block.norm_eps = 0.25; }));
  CHECK(check_bert([](auto& o) { o.block.activation = nn::Activation::relu; }));
  CHECK_FALSE(check_bert([](auto& o) { o.block.activation = nn::Activation::swiglu; }));
  CHECK_FALSE(check_bert([](auto& o) { o.block.norm = nn::NormPlacement::pre; }));
  CHECK_FALSE(check_bert([](auto& o) { o.block.norm_kind = nn::NormKind::rms; }));
  CHECK_FALSE(check_bert([](auto& o) { o.block.kv_heads = 1; }));
  CHECK_FALSE(check_bert([](auto& o) { o.block.bias = false; }));
  CHECK_FALSE(check_bert([](auto& o) { o.block.head.qkv_bias = false; }));
  CHECK_FALSE(check_bert([](auto& o) { o.block.head.out_bias = false; }));
  CHECK_FALSE(check_bert([](auto& o) { o.block.head.width = 2; }));
  CHECK_FALSE(check_bert([](auto& o) { o.block.head.qk_norm = 1e-6; }));
  CHECK_FALSE(check_bert([](auto& o) { o.block.head.position = nn::HeadPosition::alibi; }));
  CHECK(check_bert([](auto& o) { o.padding_idx = 4; }));
  CHECK(check_bert([](auto& o) { o.padding_idx = std::nullopt; }));
  CHECK_FALSE(check_bert([](auto& o) { o.shared = true; }));
  CHECK_FALSE(check_bert([](auto& o) { o.embedding_width = 4; }));
  CHECK(check_bert([](auto& o) { o.shared = true, o.embedding_width = 4; }));
  const auto check_vit = [](auto change) {
    nn::VisionTransformerOptions o = vit();
    change(o);
    return check_round_trip(
        o, [](const auto& x) { return io::config_of(x); },
        [&](const io::Json& json) { return io::vision_transformer_options(json, o.classes); });
  };
  CHECK(check_vit([](auto&) {}));
  CHECK_FALSE(check_vit([](auto& o) { o.block.norm = nn::NormPlacement::post; }));
  CHECK_FALSE(check_vit([](auto& o) { o.block.bias = false; }));
  CHECK(check_vit(
      [](auto& o) { o.block.hidden = 9, o.channels = 1, o.classes = 1, o.block.norm_eps = 0.5; }));
}

namespace {

const char* const kValues[] = {"null",
                               "0",
                               "1",
                               "2",
                               "0.5",
                               "-1",
                               "\"x\"",
                               "\"silu\"",
                               "true",
                               "false",
                               "[]",
                               "[1]",
                               "{}",
                               R"({"type":"linear"})",
                               R"(["sliding_attention"])"};

/// Removes or changes each key. The configuration must load, or a FileError must name the file.
/// Unknown keys are rejected by name.
template <class Read>
void check_changes(const std::string& config, Read read) {
  const Document base = Document::parse(config);
  const auto read_or_refuse = [&](const Document& changed) {
    const std::string text = changed.dump();
    INFO(text);
    try {
      read(parsed(text));
    } catch (const FileError& error) {
      CHECK(contains(error.what(), "c.json"));
    }
  };
  for (const auto& [key, value] : base.items()) {
    Document changed = base;
    changed.erase(key);
    read_or_refuse(changed);
    for (const char* other : kValues) {
      changed[key] = Document::parse(other);
      read_or_refuse(changed);
    }
  }
  Document more = base;
  more["no_such_key"] = 1;
  CHECK_REFUSES(FileError, read(parsed(more.dump())), "c.json", "no_such_key");
}

}  // namespace

TEST_CASE("a configuration with a changed value is read or rejected with the file's name") {
  nn::GPTOptions mistral = llama(), qwen2 = llama(), qwen3 = llama();
  mistral.window = 2, qwen2.block.head.qkv_bias = true,
  qwen3.block.head.qk_norm = qwen3.block.norm_eps;
  for (const nn::GPTOptions& o : {gpt2(), llama(), mistral, qwen2, qwen3})
    check_changes(io::config_of(o), io::gpt_options);
  nn::BERTOptions albert = bert();
  albert.shared = true, albert.embedding_width = 4;
  check_changes(io::config_of(bert(), "B"), io::bert_options);
  check_changes(io::config_of(albert, "A"), io::bert_options);
  check_changes(io::config_of(vit()),
                [](const io::Json& json) { return io::vision_transformer_options(json, 3); });
}

TEST_CASE("GGUF facts convert to model options or are rejected by name") {
  using Facts = std::map<std::string, io::Fact>;
  for (const std::string type : {"llama", "qwen2", "qwen3"}) {
    CAPTURE(type);
    const Facts facts = {{"general.architecture", type},
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
    nn::GPTOptions expected = llama();
    expected.block.kv_heads = 1, expected.block.hidden = 17, expected.block.norm_eps = 0.25,
    expected.block.head.width = 6;
    expected.block.head.rotary.base = 500, expected.vocab = 0;
    if (type == "qwen2") expected.block.head.qkv_bias = true;
    if (type == "qwen3") expected.block.head.qk_norm = 0.25;
    CHECK(fields(io::gguf_options(facts, "m.gguf")) == fields(expected));
    const io::Fact others[] = {
        std::int64_t{0}, std::int64_t{-1}, std::int64_t{4}, 0.5, std::string("x"), true};
    for (const auto& [key, value] : facts) {
      CAPTURE(key);
      Facts changed = facts;
      const auto read_or_refuse = [&] {
        try {
          io::gguf_options(changed, "m.gguf");
        } catch (const FileError& error) {
          CHECK(contains(error.what(), "m.gguf"));
        }
      };
      changed.erase(key);
      read_or_refuse();
      for (const io::Fact& other : others) {
        changed[key] = other;
        read_or_refuse();
      }
    }
    for (const char* key : {".rope.dimension_count", ".attention.value_length"}) {
      Facts narrow = facts;
      narrow[type + key] = std::int64_t{4};
      CHECK_REFUSES(FileError, io::gguf_options(narrow, "m.gguf"), "m.gguf", key);
    }
    Facts fewer = facts;
    fewer.erase(type + ".attention.head_count_kv");
    CHECK(io::gguf_options(fewer, "m.gguf").block.kv_heads == 2);
    fewer.erase(type + ".block_count");
    CHECK_REFUSES(FileError, io::gguf_options(fewer, "m.gguf"), "m.gguf", "block_count");
    Facts more = facts;
    more[type + ".rope.scaling"] = std::int64_t{2};
    CHECK_REFUSES(FileError, io::gguf_options(more, "m.gguf"), "m.gguf", type + ".rope.scaling");
  }
  CHECK_REFUSES(FileError, io::gguf_options({{"general.architecture", std::string("mamba")}}, "m"),
                "mamba");
}

}  // namespace gradus::testing::test_model_config
