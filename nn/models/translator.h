// Translator: a sequence-to-sequence Transformer.
#pragma once

#include <vector>

#include "gradus/nn/embedding.h"
#include "gradus/nn/models/decode.h"
#include "gradus/nn/position.h"
#include "gradus/nn/transformer.h"

namespace gradus::nn {

/// Options of Translator.
struct TranslatorOptions {
  std::int64_t source_vocab = 0, target_vocab = 0;
  std::int64_t context = 0;                             // maximum length of source and target
  std::int64_t encoder_layers = 2, decoder_layers = 2;  // number of blocks in each stack
  BlockOptions block = {};                              // default activation: relu
  bool shared = false;  // true: source and target share one embedding; requires equal vocabularies
};

/// Embeddings · √C + sinusoidal positions, an encoder, a decoder, and an output projection that
/// uses the target embedding. In example b, source padding starts at position source_lengths[b].
/// Vaswani et al. 2017.
class Translator : public Layer<Translator> {
 public:
  explicit Translator(const TranslatorOptions& options);

  /// Source ids i64 [B, S], target ids [B, T] → logits [B, T, V] of the next tokens.
  Tensor forward(const Tensor& source, const Tensor& target,
                 const std::vector<std::int64_t>& source_lengths = {}) const;
  /// Encodes source ids: [B, S] → [B, S, C].
  Tensor encode(const Tensor& source, const std::vector<std::int64_t>& source_lengths = {}) const;
  /// Target ids [B, T], memory [B, S, C] → logits [B, T, V] of the next tokens.
  Tensor decode(const Tensor& target, const Tensor& memory,
                const std::vector<std::int64_t>& source_lengths = {},
                KVCache* cache = nullptr) const;

  Members members() override {
    return {{"source_token", source_token},
            {"target_token", target_token},
            {"transformer", transformer}};
  }

  TranslatorOptions options;
  Embedding source_token, target_token;  // [V, C]
  Transformer transformer;

 private:
  Tensor embed(const Embedding& token, const Tensor& ids, const KVCache* cache) const;
  Tensor positions;  // [context, C]
};

/// Continues the targets of a batch of sources, with a cache. The prompts consist of start tokens.
class TranslatorDecoderState final : public DecoderState {
 public:
  TranslatorDecoderState(const Translator& model, const Tensor& source,
                         std::vector<std::int64_t> source_lengths = {});
  Tensor next(const std::vector<Tokens>& tokens) override;
  void select(const std::vector<std::int64_t>& sequences) override;

 private:
  const Translator& model_;
  Tensor memory_;
  std::vector<std::int64_t> lengths_;
  KVCache cache_;
};

}  // namespace gradus::nn
