#include "gradus/io/pretrained/pretrained.h"

#include <filesystem>
#include <memory>

#include "gradus/engine/base/error.h"
#include "gradus/io/output_file.h"
#include "gradus/io/pretrained/model_config.h"
#include "gradus/io/pretrained/tensor_source.h"
#include "gradus/io/safetensors.h"
#include "gradus/io/text.h"
#include "gradus/nn/init.h"
#include "gradus/nn/models/families.h"

namespace gradus::io {
namespace {

namespace fs = std::filesystem;

nn::TensorReader reader_of(const std::shared_ptr<TensorSource>& source) {
  nn::TensorReader reader;
  for (const auto& [name, stored] : source->tensors()) reader.shapes[name] = stored.shape;
  reader.read = [source](const std::string& name) { return source->read(name, default_dtype()); };
  return reader;
}

struct Opened {
  explicit Opened(const std::string& path)
      : source(std::make_shared<TensorSource>(TensorSource::open(path))),
        tensors(reader_of(source)) {}
  Json config() const {
    const std::string file = (fs::path(source->name()) / "config.json").string();
    return Json::parse(read_text(file), file);
  }
  bool has(const std::string& name) const { return tensors.shapes.contains(name); }
  /// Returns the first size of a tensor, or 0 if the tensor is missing.
  std::int64_t rows(const std::string& name) const {
    const auto found = tensors.shapes.find(name);
    return found == tensors.shapes.end() || found->second.rank() == 0 ? 0 : found->second[0];
  }

  std::shared_ptr<TensorSource> source;
  nn::TensorReader tensors;
  nn::init::Skip skip;  // every parameter is loaded, so initialization is skipped
};

void fill(nn::Module& module, const nn::WeightMap& names, const Opened& from) {
  try {
    nn::load_mapped(module, names, from.tensors);
  } catch (const ShapeError& e) {
    fail<ShapeError>(from.source->name(), ": ", e.what());
  }
}

template <class Model>
Model filled(Model model, const nn::WeightMap& names, const Opened& from) {
  fill(model, names, from);
  model.eval();
  return model;
}

nn::GPTOptions gguf_options(const Opened& from) {
  nn::GPTOptions options = io::gguf_options(from.source->facts(), from.source->name());
  options.vocab = from.rows("token_embd.weight");
  options.tied = !from.has("output.weight");
  require<FileError>(options.vocab > 0, from.source->name(),
                     ": the tensor \"token_embd.weight\" is missing");
  return options;
}

nn::GPTOptions options_of_gpt(const Opened& from) {
  return from.source->is_gguf() ? gguf_options(from) : gpt_options(from.config());
}

/// Returns the names of a GGUF model's tensors. The architecture "llama" has interleaved rotary
/// pairs.
nn::WeightMap gguf_names_of(const nn::GPTOptions& options, const Opened& from) {
  const auto& type = std::get<std::string>(from.source->facts().at("general.architecture"));
  return nn::gguf_names(options, type == "llama");
}

nn::WeightMap names_of(const nn::GPTOptions& options) {
  return options.learns_positions() ? nn::gpt2_names() : nn::llama_names(options);
}

/// Returns BERT options. Sets `pooler` if the file contains a pooler.
nn::BERTOptions options_of(const Opened& from) {
  nn::BERTOptions options = bert_options(from.config());
  const std::string pooler = options.shared ? "pooler.weight" : "pooler.dense.weight";
  options.pooler = from.has(pooler) || from.has((options.shared ? "albert." : "bert.") + pooler);
  return options;
}

void save(const std::string& directory, const std::string& config, const nn::Module& module,
          const nn::WeightMap& names) {
  std::error_code error;
  fs::create_directories(directory, error);
  require<FileError>(!error, directory, ": cannot create the directory (", error.message(), ")");
  save_safetensors((fs::path(directory) / "model.safetensors").string(),
                   nn::mapped_state(module, names));
  write_file_atomically((fs::path(directory) / "config.json").string(), config.data(),
                        config.size());
}

std::string class_of(const nn::BERTOptions& options, const char* what) {
  return str_cat(options.shared ? "Albert" : "Bert", what);
}

}  // namespace

nn::GPT load_gpt(const std::string& path, const std::function<void(nn::GPTOptions&)>& change) {
  const Opened from(path);
  nn::GPTOptions options = options_of_gpt(from);
  if (change) change(options);
  return filled(nn::GPT(options),
                from.source->is_gguf() ? gguf_names_of(options, from) : names_of(options), from);
}

nn::GPTOptions read_gpt_options(const std::string& path) { return options_of_gpt(Opened(path)); }

nn::BERT load_bert(const std::string& path) {
  const Opened from(path);
  const nn::BERTOptions options = options_of(from);
  return filled(nn::BERT(options), nn::bert_names(options), from);
}

nn::MaskedLM load_masked_lm(const std::string& path) {
  const Opened from(path);
  const nn::BERTOptions options = options_of(from);
  return filled(nn::MaskedLM(options), nn::masked_lm_names(options), from);
}

nn::TextClassifier load_text_classifier(const std::string& path) {
  const Opened from(path);
  nn::BERTOptions options = options_of(from);
  options.pooler = false;  // the classifier contains its own pooler
  const std::int64_t classes = from.rows("classifier.weight");
  require<FileError>(classes > 0, path, ": the tensor \"classifier.weight\" is missing");
  return filled(nn::TextClassifier(options, classes), nn::text_classifier_names(options), from);
}

nn::VisionTransformer load_vision_transformer(const std::string& path) {
  const Opened from(path);
  const std::int64_t classes = from.rows("classifier.weight");
  require<FileError>(classes > 0, path, ": the tensor \"classifier.weight\" is missing");
  const nn::VisionTransformerOptions options = vision_transformer_options(from.config(), classes);
  return filled(nn::VisionTransformer(options), nn::vision_transformer_names(options), from);
}

void load_mapped(const std::string& path, const nn::WeightMap& names, nn::Module& module) {
  fill(module, names, Opened(path));
}

bool is_pretrained(const std::string& path) {
  std::error_code error;
  return path.ends_with(".gguf") || fs::exists(fs::path(path) / "config.json", error);
}

void save_pretrained(const std::string& directory, const nn::GPT& model) {
  save(directory, config_of(model.options), model, names_of(model.options));
}

void save_pretrained(const std::string& directory, const nn::BERT& model) {
  save(directory, config_of(model.options, class_of(model.options, "Model")), model,
       nn::bert_names(model.options));
}

void save_pretrained(const std::string& directory, const nn::MaskedLM& model) {
  const nn::BERTOptions& options = model.bert.options;
  save(directory, config_of(options, class_of(options, "ForMaskedLM")), model,
       nn::masked_lm_names(options));
}

void save_pretrained(const std::string& directory, const nn::TextClassifier& model) {
  const nn::BERTOptions& options = model.bert.options;
  const std::string what = class_of(options, "ForSequenceClassification");
  save(directory, config_of(options, what, model.head.weight.size(0)), model,
       nn::text_classifier_names(options));
}

void save_pretrained(const std::string& directory, const nn::VisionTransformer& model) {
  save(directory, config_of(model.options), model, nn::vision_transformer_names(model.options));
}

}  // namespace gradus::io
