// Converts model options from and to Hugging Face's config.json, and from GGUF.
#pragma once

#include <map>
#include <string>

#include "gradus/io/json.h"
#include "gradus/io/pretrained/gguf.h"
#include "gradus/nn/models/bert.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/nn/models/vit.h"

namespace gradus::io {

/// Returns the options of a gpt2, llama, mistral, qwen2 or qwen3 model. Throws FileError for
/// missing keys and unsupported settings. Dropout is 0.
nn::GPTOptions gpt_options(const Json& config);
/// Returns the options of a bert or albert model.
nn::BERTOptions bert_options(const Json& config);
/// Returns the options of a vit model. `classes` is the number of classes that its tensors imply.
nn::VisionTransformerOptions vision_transformer_options(const Json& config, std::int64_t classes);
/// Returns the options of a llama, qwen2 or qwen3 model in GGUF. The caller sets `vocab` and `tied`
/// from the tensors.
nn::GPTOptions gguf_options(const std::map<std::string, Fact>& facts, const std::string& name);

/// Returns config.json for the first family that supports these options. Throws ValueError if no
/// family does.
std::string config_of(const nn::GPTOptions& options);
std::string config_of(const nn::BERTOptions& options, const std::string& architecture,
                      std::int64_t classes = 0);
std::string config_of(const nn::VisionTransformerOptions& options);

}  // namespace gradus::io
