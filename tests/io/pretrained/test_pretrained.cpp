// Compares small pretrained models with `transformers` and PyTorch (tests/golden/make_families.py).
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "gradus/engine/grad_mode.h"
#include "gradus/io/pretrained/pretrained.h"
#include "gradus/io/safetensors.h"
#include "gradus/io/text.h"
#include "gradus/nn/models/families.h"
#include "gradus/nn/transformer.h"
#include "gradus/ops/create.h"
#include "gradus/ops/loss.h"
#include "gradus/ops/members.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/io/pretrained/gguf_parts.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_pretrained {
namespace {

const std::string kFamilies = GRADUS_SOURCE_DIR "/tests/golden/families/";
using Tensors = std::map<std::string, Tensor>;

class DefaultDtype {
 public:
  explicit DefaultDtype(Dtype dtype) : before_(default_dtype()) { set_default_dtype(dtype); }
  ~DefaultDtype() { set_default_dtype(before_); }
  DefaultDtype(const DefaultDtype&) = delete;
  DefaultDtype& operator=(const DefaultDtype&) = delete;

 private:
  Dtype before_;
};

std::vector<double> doubles(const Tensor& x) { return x.to(Dtype::f64).to_vector<double>(); }

/// Returns the largest difference, relative to the largest value of `expected`.
double difference(const Tensor& got, const Tensor& expected) {
  REQUIRE(got.shape() == expected.shape());
  const std::vector<double> a = doubles(got), b = doubles(expected);
  double largest = 1e-3, apart = 0;  // for values below 1e-3, the error is absolute
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    apart = std::max(apart, std::isnan(a[i]) ? 1e9 : std::abs(a[i] - b[i]));
  }
  return apart / largest;
}

/// Golden values are rounded to f32, which has an error of 6e-8 of the largest value. Gradus
/// computes in f64, whose errors are negligible.
constexpr double kF64 = 2e-7;
/// `transformers` computes Llama's norms and angles in f32, even for f64 models.
constexpr double kRoundedThere = 1e-5;
/// About 40 successive f32 rounding errors of 6e-8, some of which softmax magnifies.
constexpr double kF32 = 1e-5;

template <class Model>
Tensors gradients(const Model& model, const nn::WeightMap& names) {
  Model copy = model.clone();
  const NoGrad off;
  const std::vector<nn::NamedTensor> from = model.parameters();
  std::vector<nn::NamedTensor> to = copy.parameters();
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Tensor grad = from[i].tensor.grad();
    to[i].tensor.detach().copy_(grad.defined() ? grad : zeros_like(from[i].tensor));
  }
  return nn::mapped_state(copy, names);
}

template <class Model>
void compare_gradients(const Model& model, const nn::WeightMap& names, const Tensors& golden,
                       double tolerance) {
  const Tensors got = gradients(model, names);
  std::size_t expected = 0;
  for (const auto& [name, tensor] : golden) {
    if (!name.starts_with("grad.")) continue;
    ++expected;
    INFO(name);
    REQUIRE(got.count(name.substr(5)) == 1);
    CHECK(difference(got.at(name.substr(5)), tensor) < tolerance);
  }
  CHECK(expected == got.size());
}

template <class Model, class Call>
void check_family(const std::string& name, const std::function<Model(const std::string&)>& load,
                  const std::function<nn::WeightMap(const Model&)>& names, const Call& call,
                  double tolerance = kF64) {
  INFO(name);
  const Tensors golden = io::load_safetensors(kFamilies + name + "/golden.safetensors").tensors;
  {
    const DefaultDtype f64(Dtype::f64);
    const Model model = load(kFamilies + name);
    const Tensor output = call(model, golden);
    CHECK(difference(output, golden.at("output")) < tolerance);
    const Tensor loss =
        cross_entropy(output.flatten(0, output.rank() - 2), golden.at("targets").flatten());
    CHECK(std::abs(loss.item() - golden.at("loss").item()) < tolerance * std::abs(loss.item()));
    loss.backward();
    compare_gradients(model, names(model), golden, tolerance);
  }
  const Model model = load(kFamilies + name);
  const NoGrad off;
  const Tensor output = call(model, golden);
  CHECK(difference(output, golden.at("output")) < kF32);

  const Folder folder;
  io::save_pretrained(folder / "again", model);
  const Tensors before = io::load_safetensors(kFamilies + name + "/model.safetensors").tensors;
  const Tensors after = io::load_safetensors(folder / "again/model.safetensors").tensors;
  CHECK(before.size() == after.size());
  for (const auto& [tensor, numbers] : before) {
    INFO(tensor);
    REQUIRE(after.count(tensor) == 1);
    CHECK(same(after.at(tensor), numbers));
  }
  CHECK(same(call(load(folder / "again"), golden), output));
}

std::vector<std::int64_t> lengths_of(const Tensors& golden) {
  return golden.at("lengths").to_vector<std::int64_t>();
}

/// Tests models without a configuration, which the caller constructs.
template <class Model, class Call>
void check_torch(const std::string& name, Model model, const nn::WeightMap& names,
                 const Call& call) {
  INFO(name);
  const std::string weights = kFamilies + name + "/model.safetensors";
  const Tensors golden = io::load_safetensors(kFamilies + name + "/golden.safetensors").tensors;
  io::load_mapped(weights, names, model);
  const Tensors before = io::load_safetensors(weights).tensors;
  const Tensors after = nn::mapped_state(model, names);
  CHECK(before.size() == after.size());
  for (const auto& [tensor, numbers] : before) {
    INFO(tensor);
    REQUIRE(after.count(tensor) == 1);
    CHECK(same(after.at(tensor), numbers));
  }
  model.to(Dtype::f64);
  Tensors wide;
  for (const auto& [key, tensor] : golden) wide[key] = tensor.to(Dtype::f64);
  const Tensor output = call(model, wide);
  CHECK(difference(output, golden.at("output")) < kF64);
  const Tensor loss = (output * wide.at("factor")).sum();
  // About 200 terms cancel, so the tolerance is absolute.
  CHECK(std::abs(loss.item() - golden.at("loss").item()) < 1e-10);
  loss.backward();
  compare_gradients(model, names, golden, kF64);
}

}  // namespace

TEST_CASE("GPT-2, Llama, Mistral, Qwen2 and Qwen3 match the logits and gradients of transformers") {
  for (const char* name : {"gpt2", "llama", "mistral", "qwen2", "qwen3"})
    check_family<nn::GPT>(
        name, [](const std::string& path) { return io::load_gpt(path); },
        [&](const nn::GPT& model) {
          return std::string(name) == "gpt2" ? nn::gpt2_names() : nn::llama_names(model.options);
        },
        [](const nn::GPT& model, const Tensors& golden) { return model(golden.at("ids")); },
        std::string(name) == "gpt2" ? kF64 : kRoundedThere);
}

TEST_CASE("BERT, ALBERT and a classifier match the logits and gradients of transformers") {
  for (const char* name : {"bert", "albert"})
    check_family<nn::MaskedLM>(
        name, io::load_masked_lm,
        [](const nn::MaskedLM& model) { return nn::masked_lm_names(model.bert.options); },
        [](const nn::MaskedLM& model, const Tensors& golden) {
          return model(golden.at("ids"), lengths_of(golden));
        });
  check_family<nn::TextClassifier>(
      "bert_classifier", io::load_text_classifier,
      [](const nn::TextClassifier& model) { return nn::text_classifier_names(model.bert.options); },
      [](const nn::TextClassifier& model, const Tensors& golden) {
        return model(golden.at("ids"), lengths_of(golden));
      });
}

TEST_CASE("ViT matches the logits and gradients of transformers") {
  check_family<nn::VisionTransformer>(
      "vit", io::load_vision_transformer,
      [](const nn::VisionTransformer& model) {
        return nn::vision_transformer_names(model.options);
      },
      [](const nn::VisionTransformer& model, const Tensors& golden) {
        return model(golden.at("images").to(default_dtype()));
      });
}

TEST_CASE("PyTorch's modules load by name and give the same results") {
  const nn::BlockOptions block{.width = 21, .heads = 3, .hidden = 17};
  nn::BlockOptions gelu = block, relu = block;
  gelu.activation = nn::Activation::gelu;
  relu.activation = nn::Activation::relu;
  relu.norm = nn::NormPlacement::post;
  check_torch("torch_encoder", nn::Encoder({.block = gelu, .layers = 2}), nn::torch_encoder_names(),
              [](const nn::Encoder& m, const Tensors& in) { return m(in.at("source")); });
  check_torch("torch_transformer",
              nn::Transformer({.block = relu, .encoder_layers = 1, .decoder_layers = 2}),
              nn::torch_transformer_names(), [](const nn::Transformer& m, const Tensors& in) {
                return m(in.at("source"), in.at("target"));
              });
  check_torch("torch_attention", nn::MultiHeadAttention({.width = 21, .heads = 3}),
              nn::torch_attention_names(), [](const nn::MultiHeadAttention& m, const Tensors& in) {
                return m(in.at("source"));
              });
  const nn::CrossAttentionOptions cross{
      .width = 21, .heads = 3, .memory_width = 13, .value_width = 11};
  check_torch("torch_cross_attention", nn::CrossAttention(cross),
              nn::torch_cross_attention_names(cross),
              [](const nn::CrossAttention& m, const Tensors& in) {
                return m(in.at("target"), in.at("keys"), in.at("values"));
              });
  nn::Encoder deeper({.block = gelu, .layers = 3});
  CHECK_REFUSES(ShapeError,
                io::load_mapped(kFamilies + "torch_encoder/model.safetensors",
                                nn::torch_encoder_names(), deeper),
                "torch_encoder/model.safetensors", "layers.2");
}

namespace {

class Changed {
 public:
  explicit Changed(const std::string& name) {
    tensors = io::load_safetensors(kFamilies + name + "/model.safetensors").tensors;
    config = io::read_text(kFamilies + name + "/config.json");
  }
  Changed& say(const std::string& key, const std::string& value) {
    const std::size_t end = config.rfind('}');
    const std::size_t key_at = config.find("\"" + key + "\":");
    if (key_at != std::string::npos) {
      const std::size_t from = config.find(':', key_at) + 2;
      const char* close = config[from] == '[' ? "]" : config[from] == '{' ? "}" : "";
      const std::size_t to =
          *close ? config.find(close, from) + 1 : config.find_first_of(",\n", from);
      config.replace(from, to - from, value);
    } else {
      config.insert(end, ",\"" + key + "\":" + value);
    }
    return *this;
  }
  std::string path() {
    io::save_safetensors(folder_ / "model.safetensors", tensors);
    write_bytes(folder_ / "config.json", config);
    return folder_ / "";
  }
  Tensors tensors;
  std::string config;

 private:
  Folder folder_;
};

}  // namespace

TEST_CASE("one error lists all mismatched tensors") {
  Changed llama("llama");
  llama.tensors.erase("model.layers.1.self_attn.k_proj.weight");
  llama.tensors["model.layers.0.self_attn.q_proj.weight"] = ones({10, 21});  // wrong number of rows
  llama.tensors["model.layers.2.mlp.down_proj.weight"] = ones({21, 17});
  llama.tensors["extra"] = ones({3});
  const std::string message = message_of<ShapeError>([&] { io::load_gpt(llama.path()); });
  CHECK(contains(message,
                 "missing     model.layers.1.self_attn.k_proj.weight [10, 21], for "
                 "blocks.1.attention.qkv_proj.weight"));
  CHECK(contains(message,
                 "mismatched  model.layers.0.self_attn.q_proj.weight: expected [30, 21], "
                 "got [10, 21]"));
  CHECK(contains(message, "unexpected  model.layers.2.mlp.down_proj.weight [21, 17]"));
  CHECK(contains(message, "unexpected  extra [3]"));
}

TEST_CASE("a file may omit the prefix and contain masks that are not learned") {
  Changed gpt2("gpt2");
  Tensors bare;
  for (const auto& [name, tensor] : gpt2.tensors) bare[name.substr(12)] = tensor;
  bare["h.0.attn.bias"] = bare["h.1.attn.bias"] = ones({1, 1, 29, 29});
  gpt2.tensors = bare;
  gpt2.tensors["lm_head.weight"] = bare["wte.weight"].clone();  // in the file twice
  CHECK(io::load_gpt(gpt2.path()).options.tied);
  gpt2.tensors["lm_head.weight"] = ones({37, 21});
  const std::string message = message_of<ValueError>([&] { io::load_gpt(gpt2.path()); });
  CHECK(contains(message,
                 "lm_head.weight must equal token.weight, which this model shares, but has other"));
}

TEST_CASE("an unsupported configuration is rejected by name") {
  const auto refusal = [](const char* model, const char* key, const char* value) {
    Changed changed(model);
    return message_of<FileError>([&] { io::load_gpt(changed.say(key, value).path()); });
  };
  CHECK(contains(refusal("llama", "rope_scaling", "{\"rope_type\":\"llama3\",\"factor\":8.0}"),
                 "requires features that Gradus lacks:\n  rope_scaling"));
  CHECK(contains(refusal("llama", "hidden_act", "\"gelu\""), "hidden_act: \"gelu\""));
  CHECK(contains(refusal("llama", "partial_rotary_factor", "0.5"), "partial_rotary_factor: 0.5"));
  CHECK(contains(refusal("qwen2", "layer_types", "[\"full_attention\",\"sliding_attention\"]"),
                 "layer_types"));
  CHECK(contains(refusal("gpt2", "scale_attn_weights", "false"), "scale_attn_weights: false"));
  CHECK(contains(refusal("gpt2", "scale_attn_by_inverse_layer_idx", "true"),
                 "scale_attn_by_inverse_layer_idx: true"));
  CHECK(contains(refusal("gpt2", "activation_function", "\"tanh\""), "activation_function"));
  CHECK(contains(refusal("gpt2", "model_type", "\"mamba\""), "for a GPT, got \"mamba\""));
  CHECK(contains(refusal("llama", "vocab_size", "\"many\""), "vocab_size"));
  Changed quiet("llama");  // null, false and token names are accepted
  quiet.say("rope_scaling", "null").say("partial_rotary", "false").say("pad_token_id", "3");
  CHECK(io::load_gpt(quiet.path()).options.layers == 2);
  using Asked = std::tuple<const char*, const char*, const char*>;  // model, key, unsupported value
  for (const auto& [model, key, value] :
       {Asked{"bert", "position_embedding_type", "\"relative_key\""},
        Asked{"bert", "tie_word_embeddings", "false"}, Asked{"albert", "inner_group_num", "2"}}) {
    Changed changed(model);
    CHECK_REFUSES(FileError, io::load_masked_lm(changed.say(key, value).path()), key);
  }
  Changed vit("vit");
  CHECK(contains(message_of<FileError>(
                     [&] { io::load_vision_transformer(vit.say("qkv_bias", "false").path()); }),
                 "qkv_bias"));
  Changed albert("albert");
  CHECK(contains(message_of<FileError>(
                     [&] { io::load_masked_lm(albert.say("num_hidden_groups", "2").path()); }),
                 "num_hidden_groups: 2"));
}

TEST_CASE("options that no family supports are not written") {
  const Folder folder;
  const auto refusal = [&](nn::GPTOptions options) {
    options.vocab = 7, options.context = 5, options.block.heads = 2, options.block.width = 4;
    return message_of<ValueError>([&] { io::save_pretrained(folder / "run", nn::GPT(options)); });
  };
  CHECK(contains(refusal({.window = 3}), "is written as gpt2"));
  CHECK(
      contains(refusal({.block = {.activation = nn::Activation::swiglu}}), "cannot write swiglu"));
  CHECK(contains(refusal({.block = {.head = {.position = nn::HeadPosition::rotary}}}),
                 "is written as llama"));
  const nn::BlockOptions alibi{.activation = nn::Activation::swiglu,
                               .norm_kind = nn::NormKind::rms,
                               .head = {.position = nn::HeadPosition::alibi}};
  CHECK(contains(refusal({.block = alibi}), "is written as llama"));
}

namespace {

nn::GPTOptions small(bool qkv_bias, bool tied) {
  return {.vocab = 5,
          .context = 4,
          .block = {.width = 8,
                    .heads = 2,
                    .kv_heads = 1,
                    .hidden = 6,
                    .bias = false,
                    .activation = nn::Activation::swiglu,
                    .norm_kind = nn::NormKind::rms,
                    .head = {.position = nn::HeadPosition::rotary, .qkv_bias = qkv_bias}},
          .tied = tied};
}

std::string gguf_of(const std::string& type, const nn::StateDict& tensors) {
  const auto number = [&](const char* key, std::uint32_t value) {
    return text(type + "." + key) + raw(4u) + raw(value);
  };
  std::string head = "GGUF" + raw(3u) + raw<std::uint64_t>(tensors.size()) + raw<std::uint64_t>(8);
  head += text("general.architecture") + raw(8u) + text(type) + number("context_length", 4) +
          number("block_count", 1) + number("attention.head_count", 2) +
          number("attention.head_count_kv", 1) + number("embedding_length", 8) +
          number("feed_forward_length", 6) + text(type + ".attention.layer_norm_rms_epsilon") +
          raw(6u) + raw(1e-5f);
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    head += text(name) + raw(static_cast<std::uint32_t>(tensor.rank()));
    for (int axis = tensor.rank() - 1; axis >= 0; --axis) head += raw(tensor.size(axis));
    head += raw(0u) + raw<std::uint64_t>(data.size());
    for (const float each : tensor.to_vector<float>()) data += raw(each);
    data.resize((data.size() + 31) / 32 * 32);
  }
  head.resize((head.size() + 31) / 32 * 32);
  return head + data;
}

void check_same(const nn::StateDict& got, const nn::StateDict& expected) {
  CHECK(got.size() == expected.size());
  for (const auto& [name, tensor] : expected) {
    INFO(name);
    REQUIRE(got.contains(name));
    CHECK(same(got.at(name), tensor));
  }
}

nn::BERTOptions bert(bool shared, bool pooler) {
  nn::BERTOptions o{.vocab = 5, .context = 4, .layers = 1, .block = {.width = 4, .heads = 2}};
  o.block.hidden = 6, o.shared = shared, o.pooler = pooler;
  if (shared) o.embedding_width = 3;
  return o;
}

std::string architecture_in(const std::string& directory) {
  return nlohmann::json::parse(io::read_text(directory + "/config.json"))["architectures"].dump();
}

}  // namespace

TEST_CASE("a GGUF model loads, with or without tied embeddings") {
  const Folder folder;
  const std::string path = folder / "m.gguf";
  const Tensor ids = indices({0, 4, 2}).view({1, 3});
  for (const std::string type : {"llama", "qwen2"})
    for (const bool tied : {false, true}) {
      INFO(type << (tied ? " tied" : ""));
      nn::GPT model(small(type == "qwen2", tied));
      model.eval();
      nn::StateDict tensors =
          nn::mapped_state(model, nn::gguf_names(model.options, type == "llama"));
      if (tied) tensors.erase("output.weight");
      write_bytes(path, gguf_of(type, tensors));
      const nn::GPTOptions options = io::read_gpt_options(path);
      CHECK(options.vocab == 5);
      CHECK(options.tied == tied);
      const nn::GPT loaded = io::load_gpt(path, [](nn::GPTOptions& o) { o.block.dropout = 0.5; });
      CHECK_FALSE(loaded.training());
      CHECK(loaded.options.block.dropout == 0.5);
      CHECK(io::load_gpt(path).options.block.dropout == 0);
      const NoGrad off;
      CHECK(same(loaded(ids), model(ids)));
      tensors.erase("token_embd.weight");
      write_bytes(path, gguf_of(type, tensors));
      CHECK(contains(refusal([&] { io::read_gpt_options(path); }),
                     path + ": the tensor \"token_embd.weight\""));
    }
  CHECK(io::is_pretrained(path));
  CHECK(io::is_pretrained("none.gguf"));
  CHECK_FALSE(io::is_pretrained(folder / ""));
  write_bytes(folder / "config.json", "");
  CHECK(io::is_pretrained(folder / ""));
}

TEST_CASE("a loaded BERT has a pooler if its file contains one, with or without name prefixes") {
  const Folder folder;
  for (const bool shared : {false, true})
    for (const bool pooler : {false, true}) {
      const std::string directory = folder / "m", weights = directory + "/model.safetensors";
      const nn::BERT model(bert(shared, pooler));
      io::save_pretrained(directory, model);
      CHECK(architecture_in(directory) == (shared ? "[\"AlbertModel\"]" : "[\"BertModel\"]"));
      const nn::WeightMap names = nn::bert_names(model.options);
      const nn::StateDict expected = nn::mapped_state(model, names);
      const nn::StateDict written = io::load_safetensors(weights).tensors;
      const std::string family = shared ? "albert." : "bert.";
      for (const bool prefixed : {false, true}) {
        INFO(family << pooler << prefixed);
        nn::StateDict renamed;
        for (const auto& [name, tensor] : written) {
          const std::string bare = name.starts_with(family) ? name.substr(family.size()) : name;
          renamed[prefixed ? family + bare : bare] = tensor;
        }
        io::save_safetensors(weights, renamed);
        const nn::BERT loaded = io::load_bert(directory);
        CHECK(loaded.options.pooler == pooler);
        CHECK_FALSE(loaded.training());
        check_same(nn::mapped_state(loaded, names), expected);
      }
    }
}

TEST_CASE("BERT heads are written under their architecture's name and read back") {
  const Folder folder;
  for (const bool shared : {false, true}) {
    const std::string family = shared ? "Albert" : "Bert", directory = folder / family;
    const nn::MaskedLM words(bert(shared, false));
    io::save_pretrained(directory, words);
    CHECK(architecture_in(directory) == "[\"" + family + "ForMaskedLM\"]");
    const nn::WeightMap names = nn::masked_lm_names(words.bert.options);
    check_same(nn::mapped_state(io::load_masked_lm(directory), names),
               nn::mapped_state(words, names));
    for (const std::int64_t classes : {1, 3}) {
      const nn::TextClassifier model(bert(shared, false), classes);
      io::save_pretrained(directory, model);
      CHECK(architecture_in(directory) == "[\"" + family + "ForSequenceClassification\"]");
      const nlohmann::json config =
          nlohmann::json::parse(io::read_text(directory + "/config.json"));
      CHECK(config["id2label"].size() == static_cast<std::size_t>(classes));
      const nn::TextClassifier loaded = io::load_text_classifier(directory);
      CHECK(loaded.head.weight.size(0) == classes);
      CHECK_FALSE(loaded.bert.options.pooler);
      const nn::WeightMap its = nn::text_classifier_names(model.bert.options);
      check_same(nn::mapped_state(loaded, its), nn::mapped_state(model, its));
    }
  }
}

TEST_CASE("models with one class load, and a file without classifier weights is rejected") {
  const Folder folder;
  const std::string texts = folder / "t", images = folder / "i";
  io::save_pretrained(texts, nn::TextClassifier(bert(false, false), 1));
  const nn::VisionTransformerOptions o{
      .size = 4, .patch = 2, .classes = 1, .layers = 1, .block = {.width = 4, .heads = 2}};
  io::save_pretrained(images, nn::VisionTransformer(o));
  CHECK(io::load_text_classifier(texts).head.weight.size(0) == 1);
  CHECK(io::load_vision_transformer(images).options.classes == 1);
  for (const bool scalar : {false, true})
    for (const std::string& directory : {texts, images}) {
      const std::string weights = directory + "/model.safetensors";
      nn::StateDict tensors = io::load_safetensors(weights).tensors;
      tensors.erase("classifier.weight");
      if (scalar) tensors["classifier.weight"] = ones({});
      io::save_safetensors(weights, tensors);
      const auto load = [&] {
        if (directory == texts)
          io::load_text_classifier(directory);
        else
          io::load_vision_transformer(directory);
      };
      CHECK(contains(refusal(load), directory + ": the tensor \"classifier.weight\""));
    }
}

}  // namespace gradus::testing::test_pretrained
