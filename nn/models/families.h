// Families: the names that pretrained models and PyTorch's modules give the tensors of ours.
#pragma once

#include "gradus/nn/models/bert.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/nn/models/vit.h"
#include "gradus/nn/models/weight_map.h"

namespace gradus::nn {

/// GPT-2's learned positions, layer norms and transposed weights. Radford et al. 2019.
WeightMap gpt2_names();
/// Llama's, which Mistral, Qwen2 and Qwen3 have too. Touvron et al. 2023.
WeightMap llama_names(const GPTOptions& options);
/// The same in a GGUF file. `pairs`: the architecture "llama", which keeps the rows of queries and
/// keys in rotary's pairs.
WeightMap gguf_names(const GPTOptions& options, bool pairs);

/// Of a BERT, MaskedLM or TextClassifier. Devlin et al. 2019; with `shared` ALBERT's, Lan et al.
/// 2020.
WeightMap bert_names(const BERTOptions& options);
WeightMap masked_lm_names(const BERTOptions& options);
WeightMap text_classifier_names(const BERTOptions& options);

/// Of a VisionTransformer. Dosovitskiy et al. 2021.
WeightMap vision_transformer_names(const VisionTransformerOptions& options);

/// PyTorch's modules: nn.TransformerEncoder of an Encoder, nn.Transformer of a Transformer, and
/// nn.MultiheadAttention of a MultiHeadAttention, or of a CrossAttention with other widths (kdim,
/// vdim) or without.
WeightMap torch_encoder_names();
WeightMap torch_transformer_names();
WeightMap torch_attention_names();
WeightMap torch_cross_attention_names(const CrossAttentionOptions& options);

}  // namespace gradus::nn
