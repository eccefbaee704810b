// Model options from and to Hugging Face's config.json, and from GGUF.
#pragma once

#include <map>
#include <string>

#include "gradus/io/json.h"
#include "gradus/io/pretrained/gguf.h"
#include "gradus/nn/models/bert.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/nn/models/vit.h"

namespace gradus::io {

/// For gpt2, llama, mistral, qwen2 and qwen3. Throws FileError for missing keys and unsupported
/// settings. Dropout is 0.
nn::GPTOptions gpt_options(const Json& config);
/// For bert and albert.
nn::BERTOptions bert_options(const Json& config);
/// For vit. The number of classes comes from the tensors.
nn::VisionTransformerOptions vision_transformer_options(const Json& config, std::int64_t classes);
/// For GGUF's llama, qwen2 and qwen3, without `vocab` and `tied`, which come from the tensors.
nn::GPTOptions gguf_options(const std::map<std::string, Fact>& facts, const std::string& name);

/// config.json of the first family that has these options. Throws ValueError if none has.
std::string config_of(const nn::GPTOptions& options);
std::string config_of(const nn::BERTOptions& options, const std::string& architecture,
                      std::int64_t classes = 0);
std::string config_of(const nn::VisionTransformerOptions& options);

}  // namespace gradus::io
