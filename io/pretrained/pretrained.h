// Models that others made, and models of ours for others: a directory in the Hugging Face layout
// (config.json, and model.safetensors or its shards), or a GGUF file.
//
// Loading is strict: each tensor is used once, each parameter filled, and what the configuration
// asks for is had or refused. All of them throw FileError for files that are not there, broken or
// of another family, and ShapeError with every tensor that does not fit. Parameters are of the
// default dtype; the model is in evaluation mode.
#pragma once

#include <functional>
#include <string>

#include "gradus/nn/models/bert.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/nn/models/vit.h"
#include "gradus/nn/models/weight_map.h"

namespace gradus::io {

/// GPT-2, Llama, Mistral, Qwen2, Qwen3; of the last four but Mistral a GGUF file too. `change` may
/// set options that no tensor depends on: dropout, checkpoint, and the context of rotary positions.
nn::GPT load_gpt(const std::string& path, const std::function<void(nn::GPTOptions&)>& change = {});
/// The options alone; nothing but the configuration and headers is read.
nn::GPTOptions read_gpt_options(const std::string& path);
/// BERT and ALBERT: the vectors, words for masked places, classes of texts.
nn::BERT load_bert(const std::string& path);
nn::MaskedLM load_masked_lm(const std::string& path);
nn::TextClassifier load_text_classifier(const std::string& path);
nn::VisionTransformer load_vision_transformer(const std::string& path);

/// Any module from a file of tensors (safetensors, shards or GGUF) under other names, as PyTorch's
/// modules have them: load_mapped("encoder.safetensors", nn::torch_encoder_names(), encoder).
void load_mapped(const std::string& path, const nn::WeightMap& names, nn::Module& module);

/// Does `path` name a model that load_gpt may read: a directory with a config.json, or a .gguf?
bool is_pretrained(const std::string& path);

/// Writes config.json and model.safetensors into the directory, which is made where there is none,
/// so that `transformers` loads it. ValueError for options that no family has. FileError.
void save_pretrained(const std::string& directory, const nn::GPT& model);
void save_pretrained(const std::string& directory, const nn::BERT& model);
void save_pretrained(const std::string& directory, const nn::MaskedLM& model);
void save_pretrained(const std::string& directory, const nn::TextClassifier& model);
void save_pretrained(const std::string& directory, const nn::VisionTransformer& model);

}  // namespace gradus::io
