// Pretrained models: directories in the Hugging Face layout (config.json, and model.safetensors or
// its shards), or GGUF files.
//
// Loading is strict: every tensor is used, every parameter filled, and unsupported settings are
// errors. Throws FileError for missing, broken or unsuitable files, and ShapeError listing tensors
// that do not fit. Models have the default dtype and are in evaluation mode.
#pragma once

#include <functional>
#include <string>

#include "gradus/nn/models/bert.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/nn/models/vit.h"
#include "gradus/nn/models/weight_map.h"

namespace gradus::io {

/// GPT-2, Llama, Mistral, Qwen2, Qwen3; the last four except Mistral also from GGUF. `change` may
/// set options without tensors: dropout, checkpoint, and the context of rotary positions.
nn::GPT load_gpt(const std::string& path, const std::function<void(nn::GPTOptions&)>& change = {});
/// Only the options, from configuration and headers.
nn::GPTOptions read_gpt_options(const std::string& path);
/// BERT and ALBERT: encoder, masked language model, text classifier.
nn::BERT load_bert(const std::string& path);
nn::MaskedLM load_masked_lm(const std::string& path);
nn::TextClassifier load_text_classifier(const std::string& path);
nn::VisionTransformer load_vision_transformer(const std::string& path);

/// Loads any module by a map, from safetensors, shards or GGUF: load_mapped("encoder.safetensors",
/// nn::torch_encoder_names(), encoder).
void load_mapped(const std::string& path, const nn::WeightMap& names, nn::Module& module);

/// True if load_gpt may read `path`: a directory with config.json, or a .gguf file.
bool is_pretrained(const std::string& path);

/// Writes config.json and model.safetensors, for `transformers`. Throws ValueError for options that
/// no family has, FileError if writing fails.
void save_pretrained(const std::string& directory, const nn::GPT& model);
void save_pretrained(const std::string& directory, const nn::BERT& model);
void save_pretrained(const std::string& directory, const nn::MaskedLM& model);
void save_pretrained(const std::string& directory, const nn::TextClassifier& model);
void save_pretrained(const std::string& directory, const nn::VisionTransformer& model);

}  // namespace gradus::io
