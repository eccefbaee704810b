// BERT: an encoder that predicts masked tokens, and a text classifier based on BERT.
#pragma once

#include <optional>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/transformer.h"

namespace gradus::nn {

/// Options of BERT.
struct BERTOptions {
  std::int64_t vocab = 0, context = 0;  // V, vocabulary size; maximum T
  std::int64_t layers = 1;
  BlockOptions block = {};                           // default: gelu, post norm
  std::int64_t segments = 2;                         // number of different segment ids
  std::optional<std::int64_t> embedding_width = {};  // E, projected to C (Lan et al. 2020)
  bool shared = false;                               // one block, applied `layers` times
  bool pooler = false;                               // enables pool()
  std::optional<std::int64_t> padding_idx = {};      // token whose row receives no gradient
};

/// Normalized sum of token, position and segment embeddings, then a bidirectional encoder. Ids i64
/// [B, T] → [B, T, C]. In example b, padding starts at position lengths[b]. Devlin et al. 2019.
class BERT : public Layer<BERT> {
 public:
  explicit BERT(const BERTOptions& options);
  Tensor forward(const Tensor& ids, const std::vector<std::int64_t>& lengths = {},
                 const Tensor& segments = {}) const;
  /// Returns tanh(pooler(first token)): x [B, T, C] from forward() → [B, C].
  Tensor pool(const Tensor& x) const;
  Members members() override {
    return {{"token", token},     {"position", position}, {"segment", segment}, {"norm", norm},
            {"mapping", mapping}, {"encoder", encoder},   {"pooler", pooler}};
  }

  BERTOptions options;
  Embedding token, position, segment;  // [V, E], [context, E], [segments, E]
  LayerNorm norm;                      // [E]
  Linear mapping;                      // [C, E], used only with embedding_width
  Encoder encoder;
  Linear pooler;  // [C, C], used only with `pooler`
};

/// Token logits at each position: norm(activation(dense(bert))) · tokenᵀ + bias, [B, T, V].
class MaskedLM : public Layer<MaskedLM> {
 public:
  explicit MaskedLM(const BERTOptions& options);
  Tensor forward(const Tensor& ids, const std::vector<std::int64_t>& lengths = {}) const;
  /// Returns the mean cross-entropy over the positions whose target is not −100, or 0 if all
  /// targets are −100. Computes logits only at these positions.
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

/// Classifier: first token → tanh(pooler) → class logits [B, classes]. Devlin et al. 2019.
class TextClassifier : public Layer<TextClassifier> {
 public:
  TextClassifier(const BERTOptions& options, std::int64_t classes);
  Tensor forward(const Tensor& ids, const std::vector<std::int64_t>& lengths = {}) const;
  Members members() override { return {{"bert", bert}, {"pooler", pooler}, {"head", head}}; }
  TextClassifier same_architecture() const { return {bert.options, head.weight.size(0)}; }

  BERT bert;
  Linear pooler, head;  // [C, C], [classes, C]
};

/// Options of mask_tokens(). The default rate is that of Devlin et al. 2019.
struct MaskTokensOptions {
  std::int64_t vocab = 0, mask_id = 0;  // V; id of the mask token
  std::int64_t first_id = 0;            // lower ids (padding, start, …) are never masked or drawn
  double rate = 0.15;                   // fraction of tokens to choose
};
/// Inputs and targets for masked language modeling.
struct MaskedTokens {
  Tensor ids;      // [B, T]
  Tensor targets;  // [B, T]: original id where chosen, −100 elsewhere
};
/// Chooses a fraction `rate` of the tokens. Of these, 80 % become mask_id, 10 % become a random
/// token, and 10 % stay unchanged.
MaskedTokens mask_tokens(const Tensor& ids, const MaskTokensOptions& options,
                         const RandomStream& random);

}  // namespace gradus::nn
