// Weight maps for pretrained models and PyTorch modules.
#pragma once

#include "gradus/nn/models/bert.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/nn/models/vit.h"
#include "gradus/nn/models/weight_map.h"

namespace gradus::nn {

/// Map for GPT-2: learned positions, layer norms, transposed weights. Radford et al. 2019.
WeightMap gpt2_names();
/// Map for Llama, Mistral, Qwen2 and Qwen3. Touvron et al. 2023.
WeightMap llama_names(const GPTOptions& options);
/// Map for GGUF files of the families of llama_names(). If `pairs`, the rows of q and k are in
/// rotary pairs (architecture "llama").
WeightMap gguf_names(const GPTOptions& options, bool pairs);

/// Maps for BERT, MaskedLM and TextClassifier; with `shared`, for ALBERT. Devlin et al. 2019, Lan
/// et al. 2020.
WeightMap bert_names(const BERTOptions& options);
WeightMap masked_lm_names(const BERTOptions& options);
WeightMap text_classifier_names(const BERTOptions& options);

/// Map for VisionTransformer. Dosovitskiy et al. 2021.
WeightMap vision_transformer_names(const VisionTransformerOptions& options);

/// Maps for PyTorch's nn.TransformerEncoder, nn.Transformer, and nn.MultiheadAttention, which
/// becomes MultiHeadAttention or CrossAttention (also with kdim, vdim).
WeightMap torch_encoder_names();
WeightMap torch_transformer_names();
WeightMap torch_attention_names();
WeightMap torch_cross_attention_names(const CrossAttentionOptions& options);

}  // namespace gradus::nn
