// Families: the names that models made elsewhere give the tensors of ours, and which options each
// can hold. What a family's tables say is read both ways (nn/models/names.h).
#pragma once

#include "gradus/nn/models/bert.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/nn/models/names.h"
#include "gradus/nn/models/vit.h"

namespace gradus::nn {

/// GPT-2's learned positions, layer norms and transposed weights. Radford et al. 2019.
Names gpt2_names();
/// Llama's, which Mistral, Qwen2 and Qwen3 have too. Touvron et al. 2023.
Names llama_names(const GPTOptions& options);
/// The same in a GGUF file. `pairs`: the architecture "llama", which keeps the rows of queries and
/// keys in rotary's pairs.
Names gguf_names(const GPTOptions& options, bool pairs);

/// Of a BERT, MaskedLM or TextClassifier. Devlin et al. 2019; with `shared` ALBERT's, Lan et al.
/// 2020.
Names bert_names(const BERTOptions& options);
Names masked_lm_names(const BERTOptions& options);
Names text_classifier_names(const BERTOptions& options);

/// Of a VisionTransformer. Dosovitskiy et al. 2021.
Names vision_transformer_names(const VisionTransformerOptions& options);

/// PyTorch's modules: nn.TransformerEncoder of an Encoder, nn.Transformer of a Transformer, and
/// nn.MultiheadAttention of a MultiHeadAttention, or of a CrossAttention with other widths (kdim,
/// vdim) or without.
Names torch_encoder_names();
Names torch_transformer_names();
Names torch_attention_names();
Names torch_cross_attention_names(const CrossAttentionOptions& options);

}  // namespace gradus::nn
