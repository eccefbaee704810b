// Converts GGUF metadata to model options.
#include <set>
#include <utility>

#include "gradus/engine/base/error.h"
#include "gradus/io/pretrained/model_config.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

/// The facts of one architecture, such as "llama.block_count".
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
  /// Throws a FileError that lists the facts of the architecture that were not read, if there are
  /// any.
  void finish() const {
    std::string left;
    for (const auto& [key, value] : facts_)
      if (key.starts_with(architecture + ".") && !asked_.contains(key)) left += "\n  " + key;
    require<FileError>(left.empty(), name_, ": requires features that Gradus lacks:", left);
  }

  std::string architecture;

 private:
  template <class T>
  T get(const std::string& key, const T* otherwise) {
    asked_.insert(key);
    const auto found = facts_.find(key);
    if (found == facts_.end() && otherwise) return *otherwise;
    require<FileError>(found != facts_.end(), name_, ": the metadata key ", quote(key),
                       " is missing. Download the file or convert the model again.");
    const T* value = std::get_if<T>(&found->second);
    require<FileError>(value != nullptr, name_, ": ", quote(key), " has the wrong type");
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
                     ": the architecture must be llama, qwen2 or qwen3, got ", quote(type));
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
  require<FileError>(heads > 0, name, ": the number of heads must be positive, got ", heads);
  const double base = 10000;
  o.block.kv_heads = facts.as_int("attention.head_count_kv", &heads);
  nn::HeadOptions& head = o.block.head;
  head.rotary.base = facts.number("rope.freq_base", &base);
  const std::int64_t narrow = o.block.width / heads;
  const std::int64_t D = facts.as_int("attention.key_length", &narrow);
  head.width = D;
  for (const char* key : {"attention.value_length", "rope.dimension_count"})
    require<FileError>(facts.as_int(key, &D) == D, name, ": ", type, ".", key, " is ",
                       facts.as_int(key, &D), ", but must equal the head width, ", D);
  facts.as_int("vocab_size", &o.vocab);  // optional, because the embedding has the same size
  if (type == "qwen3") head.qk_norm = o.block.norm_eps;
  facts.finish();
  return o;
}

}  // namespace gradus::io
