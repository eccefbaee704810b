// What does not fit is refused by name, all of it at once, before a number is read.
#include <fstream>
#include <string>

#include "gradus/io/model_config.h"
#include "gradus/io/pretrained.h"
#include "gradus/io/safetensors.h"
#include "gradus/io/text.h"
#include "gradus/models/families.h"
#include "gradus/ops/create.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing {
namespace {

const std::string kFamilies = GRADUS_SOURCE_DIR "/tests/golden/families/";
using Tensors = std::map<std::string, Tensor>;

/// A copy of a golden model whose tensors or configuration are changed first.
class Changed {
 public:
  explicit Changed(const std::string& name) {
    tensors = io::load_safetensors(kFamilies + name + "/model.safetensors").tensors;
    config = io::read_text(kFamilies + name + "/config.json");
  }
  /// In the configuration: `value`, JSON, at the end.
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

TEST_CASE("all tensors that do not fit are listed in one error") {
  Changed llama("llama");
  llama.tensors.erase("model.layers.1.self_attn.k_proj.weight");
  llama.tensors["model.layers.0.self_attn.q_proj.weight"] = ones({10, 21});  // k's rows
  llama.tensors["model.layers.2.mlp.down_proj.weight"] = ones({21, 17});
  llama.tensors["extra"] = ones({3});
  const std::string said = message_of<ShapeError>([&] { io::load_gpt(llama.path()); });
  CHECK(contains(said,
                 "missing     model.layers.1.self_attn.k_proj.weight [10, 21], for "
                 "blocks.1.attention.qkv_proj.weight"));
  CHECK(contains(said,
                 "misshapen   model.layers.0.self_attn.q_proj.weight: wanted is [30, 21], "
                 "given is [10, 21]"));
  CHECK(contains(said, "unexpected  model.layers.2.mlp.down_proj.weight [21, 17]"));
  CHECK(contains(said, "unexpected  extra [3]"));
}

TEST_CASE("a file may leave out the prefix, and keep masks that are not learned") {
  Changed gpt2("gpt2");
  Tensors bare;
  for (const auto& [name, tensor] : gpt2.tensors) bare[name.substr(12)] = tensor;  // "transformer."
  bare["h.0.attn.bias"] = bare["h.1.attn.bias"] = ones({1, 1, 29, 29});
  gpt2.tensors = bare;
  gpt2.tensors["lm_head.weight"] = bare["wte.weight"].clone();  // tied, written twice
  CHECK(io::load_gpt(gpt2.path()).options.tied);
  gpt2.tensors["lm_head.weight"] = ones({37, 21});
  const std::string said = message_of<ValueError>([&] { io::load_gpt(gpt2.path()); });
  CHECK(contains(said, "lm_head.weight: is token.weight again in this model, but holds other"));
}

TEST_CASE("what a configuration asks for and there is not is refused by name") {
  const auto refusal = [](const char* model, const char* key, const char* value) {
    Changed changed(model);
    return message_of([&] { io::load_gpt(changed.say(key, value).path()); });
  };
  CHECK(contains(refusal("llama", "rope_scaling", "{\"rope_type\":\"llama3\",\"factor\":8.0}"),
                 "asks for what Gradus does not have:\n  rope_scaling"));
  CHECK(contains(refusal("llama", "hidden_act", "\"gelu\""), "hidden_act: \"gelu\""));
  CHECK(contains(refusal("llama", "partial_rotary_factor", "0.5"), "partial_rotary_factor: 0.5"));
  CHECK(contains(refusal("qwen2", "layer_types", "[\"full_attention\",\"sliding_attention\"]"),
                 "layer_types"));
  CHECK(contains(refusal("gpt2", "scale_attn_weights", "false"), "scale_attn_weights: false"));
  CHECK(contains(refusal("gpt2", "scale_attn_by_inverse_layer_idx", "true"),
                 "scale_attn_by_inverse_layer_idx: true"));
  CHECK(contains(refusal("gpt2", "activation_function", "\"tanh\""), "activation_function"));
  CHECK(contains(refusal("gpt2", "model_type", "\"mamba\""), "is no GPT that Gradus knows"));
  CHECK(contains(refusal("llama", "vocab_size", "\"many\""), "vocab_size"));
  Changed quiet("llama");  // null and false ask for nothing, and names of tokens are no numbers
  quiet.say("rope_scaling", "null").say("partial_rotary", "false").say("pad_token_id", "3");
  CHECK(io::load_gpt(quiet.path()).options.layers == 2);
  Changed albert("albert");
  CHECK(
      contains(message_of([&] { io::load_masked_lm(albert.say("num_hidden_groups", "2").path()); }),
               "num_hidden_groups: 2"));
}

TEST_CASE("options that no family has are not written") {
  const Folder folder;
  const auto refusal = [&](nn::GPTOptions options) {
    options.vocab = 7, options.context = 5, options.heads = 2, options.width = 4;
    return message_of<ValueError>([&] { io::save_pretrained(folder / "run", nn::GPT(options)); });
  };
  CHECK(contains(refusal({.window = 3}), "is written as gpt2"));
  CHECK(contains(refusal({.activation = nn::Activation::swiglu}), "swiglu is written for models"));
  CHECK(contains(refusal({.position = nn::HeadPosition::rotary}), "is written as llama"));
}

TEST_CASE("rows in rotary's pairs become halves, and go back") {
  nn::GPTOptions options{.vocab = 3, .context = 4, .heads = 2, .width = 8};
  options.kv_heads = 1, options.position = nn::HeadPosition::rotary, options.bias = false;
  options.norm_kind = nn::NormKind::rms, options.activation = nn::Activation::swiglu;
  nn::GPT model(options);
  nn::StateDict theirs = nn::named_state(model, nn::gguf_names(options, false));
  theirs["blk.0.attn_q.weight"] = arange(8).to(Dtype::f32).reshape({8, 1}).expand({8, 8});
  theirs["blk.0.attn_v.weight"] = theirs["blk.0.attn_k.weight"] =
      arange(4).to(Dtype::f32).reshape({4, 1}).expand({4, 8});
  const nn::Names pairs = nn::gguf_names(options, true);
  nn::load_named(model, pairs, nn::reader_of(theirs));
  const Tensor rows = model.blocks[0].attention.qkv_proj.weight.detach().select(1, 0);
  // Two heads of q and one of k: 0 1 2 3 → 0 2 1 3; v stays.
  CHECK(rows.to_vector<float>() ==
        std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7, 0, 2, 1, 3, 0, 1, 2, 3});
  const nn::StateDict again = nn::named_state(model, pairs);
  for (const auto& [name, tensor] : theirs) CHECK(same(again.at(name), tensor));
}

}  // namespace gradus::testing
