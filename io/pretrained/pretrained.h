// Pretrained models: directories in the Hugging Face layout (config.json, and model.safetensors or
// its shards), or GGUF files.
//
// Loading is strict: every tensor is used, every parameter is filled, and unsupported settings are
// errors. Throws FileError for missing, broken or unsupported files, and ShapeError listing tensors
// that do not match. Models have the default dtype and are in evaluation mode.
#pragma once

#include <functional>
#include <string>

#include "gradus/nn/models/bert.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/nn/models/vit.h"
#include "gradus/nn/models/weight_map.h"

namespace gradus::io {

/// Loads a GPT-2, Llama, Mistral, Qwen2 or Qwen3 model; Llama, Qwen2 and Qwen3 also from GGUF.
/// `change` may set options that do not affect tensors: dropout, gradient checkpointing, and the
/// context of rotary positions.
nn::GPT load_gpt(const std::string& path, const std::function<void(nn::GPTOptions&)>& change = {});
/// Returns the options, without reading the tensors.
nn::GPTOptions read_gpt_options(const std::string& path);
/// Load BERT or ALBERT: encoder, masked language model, text classifier.
nn::BERT load_bert(const std::string& path);
nn::MaskedLM load_masked_lm(const std::string& path);
nn::TextClassifier load_text_classifier(const std::string& path);
nn::VisionTransformer load_vision_transformer(const std::string& path);

/// Loads any module from safetensors, shards or GGUF, with a map of names:
/// load_mapped("encoder.safetensors", nn::torch_encoder_names(), encoder).
void load_mapped(const std::string& path, const nn::WeightMap& names, nn::Module& module);

/// True if `path` is a directory with config.json, or a .gguf file. load_gpt may still reject it.
bool is_pretrained(const std::string& path);

/// Writes config.json and model.safetensors for `transformers`. Throws ValueError if no family
/// supports the options, and FileError if writing fails.
void save_pretrained(const std::string& directory, const nn::GPT& model);
void save_pretrained(const std::string& directory, const nn::BERT& model);
void save_pretrained(const std::string& directory, const nn::MaskedLM& model);
void save_pretrained(const std::string& directory, const nn::TextClassifier& model);
void save_pretrained(const std::string& directory, const nn::VisionTransformer& model);

}  // namespace gradus::io
