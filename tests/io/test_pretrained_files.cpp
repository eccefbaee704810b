// Small models written and read: GGUF files, BERTs with and without a pooler, and what each lacks.
#include <nlohmann/json.hpp>

#include "gradus/engine/grad_mode.h"
#include "gradus/io/pretrained.h"
#include "gradus/io/safetensors.h"
#include "gradus/io/text.h"
#include "gradus/models/families.h"
#include "gradus/ops/create.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/io/gguf_parts.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing {
namespace {

nn::GPTOptions small(bool qkv_bias, bool tied) {
  nn::GPTOptions o{.vocab = 5, .context = 4, .heads = 2, .width = 8};
  o.norm_kind = nn::NormKind::rms, o.activation = nn::Activation::swiglu;
  o.kv_heads = 1, o.position = nn::HeadPosition::rotary, o.hidden = 6, o.bias = false;
  o.qkv_bias = qkv_bias, o.tied = tied;
  return o;
}

/// A GGUF file of `tensors`, f32, for a model of small().
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

void check_same(const nn::StateDict& got, const nn::StateDict& wanted) {
  CHECK(got.size() == wanted.size());
  for (const auto& [name, tensor] : wanted) {
    INFO(name);
    REQUIRE(got.contains(name));
    CHECK(same(got.at(name), tensor));
  }
}

nn::BERTOptions bert(bool shared, bool pooler) {
  nn::BERTOptions o{.vocab = 5, .context = 4, .layers = 1, .heads = 2, .width = 4};
  o.hidden = 6, o.shared = shared, o.pooler = pooler;
  if (shared) o.embedding_width = 3;
  return o;
}

std::string architecture_in(const std::string& directory) {
  return nlohmann::json::parse(io::read_text(directory + "/config.json"))["architectures"].dump();
}

}  // namespace

TEST_CASE("a GGUF file gives the model whose tensors it holds, tied or not") {
  const Folder folder;
  const std::string path = folder / "m.gguf";
  const Tensor ids = indices({0, 4, 2}).view({1, 3});
  for (const std::string type : {"llama", "qwen2"})
    for (const bool tied : {false, true}) {
      INFO(type << (tied ? " tied" : ""));
      nn::GPT model(small(type == "qwen2", tied));
      model.eval();
      nn::StateDict tensors =
          nn::named_state(model, nn::gguf_names(model.options, type == "llama"));
      if (tied) tensors.erase("output.weight");
      write_bytes(path, gguf_of(type, tensors));
      const nn::GPTOptions options = io::read_gpt_options(path);
      CHECK(options.vocab == 5);
      CHECK(options.tied == tied);
      const nn::GPT loaded = io::load_gpt(path, [](nn::GPTOptions& o) { o.dropout = 0.5; });
      CHECK_FALSE(loaded.training());
      CHECK(loaded.options.dropout == 0.5);
      CHECK(io::load_gpt(path).options.dropout == 0);
      const NoGrad off;
      CHECK(same(loaded(ids), model(ids)));
      tensors.erase("token_embd.weight");
      write_bytes(path, gguf_of(type, tensors));
      CHECK(refusal([&] { io::read_gpt_options(path); }) ==
            path + ": the tensor \"token_embd.weight\" is missing");
    }
  CHECK(io::is_pretrained(path));
  CHECK(io::is_pretrained("none.gguf"));
  CHECK_FALSE(io::is_pretrained(folder / ""));
  write_bytes(folder / "config.json", "");
  CHECK(io::is_pretrained(folder / ""));
}

TEST_CASE("a BERT has the pooler that its file has, under the family's name or without it") {
  const Folder folder;
  for (const bool shared : {false, true})
    for (const bool pooler : {false, true}) {
      const std::string directory = folder / "m", weights = directory + "/model.safetensors";
      const nn::BERT model(bert(shared, pooler));
      io::save_pretrained(directory, model);
      CHECK(architecture_in(directory) == (shared ? "[\"AlbertModel\"]" : "[\"BertModel\"]"));
      const nn::Names names = nn::bert_names(model.options);
      const nn::StateDict wanted = nn::named_state(model, names);
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
        check_same(nn::named_state(loaded, names), wanted);
      }
    }
}

TEST_CASE("heads on a BERT are written under their architecture's name, and read back") {
  const Folder folder;
  for (const bool shared : {false, true}) {
    const std::string family = shared ? "Albert" : "Bert", directory = folder / family;
    const nn::MaskedLM words(bert(shared, false));
    io::save_pretrained(directory, words);
    CHECK(architecture_in(directory) == "[\"" + family + "ForMaskedLM\"]");
    const nn::Names names = nn::masked_lm_names(words.bert.options);
    check_same(nn::named_state(io::load_masked_lm(directory), names),
               nn::named_state(words, names));
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
      const nn::Names its = nn::text_classifier_names(model.bert.options);
      check_same(nn::named_state(loaded, its), nn::named_state(model, its));
    }
  }
}

TEST_CASE("a model of one class has one, and a file without the classifier's weight is refused") {
  const Folder folder;
  const std::string texts = folder / "t", images = folder / "i";
  io::save_pretrained(texts, nn::TextClassifier(bert(false, false), 1));
  const nn::VisionTransformerOptions o{
      .size = 4, .patch = 2, .classes = 1, .layers = 1, .heads = 2, .width = 4};
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
      CHECK(refusal(load) == directory + ": the tensor \"classifier.weight\" is missing");
    }
}

}  // namespace gradus::testing
