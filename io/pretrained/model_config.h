// What a model made elsewhere says of itself: config.json of the Hugging Face layout, or the facts
// of a GGUF file. What it asks for and we do not have is refused by name.
#pragma once

#include <map>
#include <string>

#include "gradus/io/json.h"
#include "gradus/io/pretrained/gguf.h"
#include "gradus/nn/models/bert.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/nn/models/vit.h"

namespace gradus::io {

/// Of gpt2, llama, mistral, qwen2 and qwen3. FileError names the key that is missing, or those that
/// ask for what there is not. Dropout is 0: loaded models are to be used, or trained as asked.
nn::GPTOptions gpt_options(const Json& config);
/// Of bert and albert.
nn::BERTOptions bert_options(const Json& config);
/// Of vit; the file's tensors say how many classes there are.
nn::VisionTransformerOptions vision_transformer_options(const Json& config, std::int64_t classes);
/// Of GGUF's architectures llama, qwen2 and qwen3, but for `vocab` and `tied`, which its tensors
/// say. `name` stands for the file in messages.
nn::GPTOptions gguf_options(const std::map<std::string, Fact>& facts, const std::string& name);

/// config.json of a model of ours, as the family that has its options: gpt2, llama, mistral, qwen2,
/// qwen3. ValueError names the option that no family has.
std::string config_of(const nn::GPTOptions& options);
std::string config_of(const nn::BERTOptions& options, const std::string& architecture,
                      std::int64_t classes = 0);
std::string config_of(const nn::VisionTransformerOptions& options);

}  // namespace gradus::io
