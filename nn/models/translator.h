// Translator: a sequence-to-sequence Transformer, from source tokens to target tokens.
#pragma once

#include <vector>

#include "gradus/nn/embedding.h"
#include "gradus/nn/models/decode.h"
#include "gradus/nn/position.h"
#include "gradus/nn/transformer.h"

namespace gradus::nn {

struct TranslatorOptions {
  std::int64_t source_vocab = 0, target_vocab = 0;
  std::int64_t context = 0;  // the longest source and target
  std::int64_t encoder_layers = 2, decoder_layers = 2;
  BlockOptions block = {};  // default activation: relu
  bool shared = false;      // one embedding for both languages; needs equal vocabularies
};

/// Vaswani et al. 2017: embeddings · √C + sinusoidal positions, encoder, decoder, and the target's
/// embedding again as output projection. Padding of sources comes last: source_lengths say where.
class Translator : public Layer<Translator> {
 public:
  explicit Translator(const TranslatorOptions& options);

  /// Ids of sources i64 [B, S] and of the targets so far [B, T] → logits [B, T, V].
  Tensor forward(const Tensor& source, const Tensor& target,
                 const std::vector<std::int64_t>& source_lengths = {}) const;
  /// What the encoder makes of the sources: [B, S, C].
  Tensor encode(const Tensor& source, const std::vector<std::int64_t>& source_lengths = {}) const;
  /// Logits of what follows each target: memory [B, S, C], target [B, T] → [B, T, V].
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

/// Continues targets of a batch of sources, with a cache; prompts are the start tokens.
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
