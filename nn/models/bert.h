// BERT: an encoder that predicts masked tokens, and a text classifier based on it.
#pragma once

#include <optional>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/transformer.h"

namespace gradus::nn {

/// Sizes and variants of BERT.
struct BERTOptions {
  std::int64_t vocab = 0, context = 0;               // V; longest T
  std::int64_t layers = 1;                           // number of blocks
  BlockOptions block = {};                           // default: gelu, post norm
  std::int64_t segments = 2;                         // number of segment ids
  std::optional<std::int64_t> embedding_width = {};  // E, projected to C (Lan et al. 2020)
  bool shared = false;                               // one block, applied `layers` times
  bool pooler = false;                               // enables pool()
  std::optional<std::int64_t> padding_idx = {};      // its token row gets no gradient
};

/// Normalized sum of token, position and segment embeddings, then a bidirectional encoder. Ids i64
/// [B, T] → [B, T, C]. Padding starts at lengths[b]. Devlin et al. 2019.
class BERT : public Layer<BERT> {
 public:
  explicit BERT(const BERTOptions& options);
  Tensor forward(const Tensor& ids, const std::vector<std::int64_t>& lengths = {},
                 const Tensor& segments = {}) const;
  /// tanh(pooler(first token)): x [B, T, C] from forward() → [B, C].
  Tensor pool(const Tensor& x) const;
  Members members() override {
    return {{"token", token},     {"position", position}, {"segment", segment}, {"norm", norm},
            {"mapping", mapping}, {"encoder", encoder},   {"pooler", pooler}};
  }

  BERTOptions options;
  Embedding token, position, segment;  // [V, E], [context, E], [segments, E]
  LayerNorm norm;                      // [E]
  Linear mapping;                      // [C, E], only with embedding_width
  Encoder encoder;
  Linear pooler;  // [C, C], only with pooler
};

/// Token logits at each position: norm(activation(dense(bert))) · tokenᵀ + bias, [B, T, V].
class MaskedLM : public Layer<MaskedLM> {
 public:
  explicit MaskedLM(const BERTOptions& options);
  Tensor forward(const Tensor& ids, const std::vector<std::int64_t>& lengths = {}) const;
  /// Mean cross-entropy over the positions whose target is not −100, or 0 if there are none.
  /// Computes logits only there.
  Tensor loss(const Tensor& ids, const Tensor& targets,
              const std::vector<std::int64_t>& lengths = {}) const;
  Members members() override {
    return {{"bert", bert}, {"dense", dense}, {"norm", norm}, {"bias", bias}};
  }
  MaskedLM same_architecture() const { return MaskedLM(bert.options); }

  BERT bert;
  Linear dense;  // [E, C]
  LayerNorm norm;
  Tensor bias;  // [V]

 private:
  Tensor words(const Tensor& x) const;
};

/// Class logits [B, classes] of the first token through tanh(pooler). Devlin et al. 2019.
class TextClassifier : public Layer<TextClassifier> {
 public:
  TextClassifier(const BERTOptions& options, std::int64_t classes);
  Tensor forward(const Tensor& ids, const std::vector<std::int64_t>& lengths = {}) const;
  Members members() override { return {{"bert", bert}, {"pooler", pooler}, {"head", head}}; }
  TextClassifier same_architecture() const { return {bert.options, head.weight.size(0)}; }

  BERT bert;
  Linear pooler, head;  // [C, C], [classes, C]
};

/// Vocabulary and masking rate of mask_tokens(); the rate is that of Devlin et al. 2019.
struct MaskTokensOptions {
  std::int64_t vocab = 0, mask_id = 0;  // V; id of the mask token
  std::int64_t first_id = 0;            // ids below (padding, start, …) are never masked or drawn
  double rate = 0.15;                   // share of tokens that are chosen
};
/// Inputs and targets of masked language modeling.
struct MaskedTokens {
  Tensor ids;      // [B, T]
  Tensor targets;  // [B, T]: original id where chosen, −100 elsewhere
};
/// Chooses `rate` of the tokens: 80 % become mask_id, 10 % a random token, 10 % stay.
MaskedTokens mask_tokens(const Tensor& ids, const MaskTokensOptions& options,
                         const RandomStream& random);

}  // namespace gradus::nn
