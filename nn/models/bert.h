// BERT: an encoder that fills in masked tokens, and a classifier of texts on top of it.
#pragma once

#include <optional>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/transformer.h"

namespace gradus::nn {

struct BERTOptions {
  std::int64_t vocab = 0, context = 0;  // V; the longest T
  std::int64_t layers = 1;
  BlockOptions block = {};                           // default activation: gelu, default norm: post
  std::int64_t segments = 2;                         // kinds of sentence that a token may belong to
  std::optional<std::int64_t> embedding_width = {};  // E, made C by a projection (Lan et al. 2020)
  bool shared = false;                               // one block, applied `layers` times (the same)
  bool pooler = false;                               // has pool()
  std::optional<std::int64_t> padding_idx = {};      // its row of tokens gets no gradient
};

/// Devlin et al. 2019: token + position + segment, normed, then an encoder that sees both ways.
/// Ids i64 [B, T] → [B, T, C]; padding comes last, lengths say where it starts.
class BERT : public Layer<BERT> {
 public:
  explicit BERT(const BERTOptions& options);
  Tensor forward(const Tensor& ids, const std::vector<std::int64_t>& lengths = {},
                 const Tensor& segments = {}) const;
  /// tanh(pooler(the first token's vector)): x [B, T, C], which forward gave → [B, C].
  Tensor pool(const Tensor& x) const;
  Members members() override {
    return {{"token", token},     {"position", position}, {"segment", segment}, {"norm", norm},
            {"mapping", mapping}, {"encoder", encoder},   {"pooler", pooler}};
  }

  BERTOptions options;
  Embedding token, position, segment;  // [V, E], [context, E], [segments, E]; E is C, or as asked
  LayerNorm norm;                      // [E]
  Linear mapping;                      // [C, E], with embedding_width only
  Encoder encoder;
  Linear pooler;  // [C, C], with pooler only
};

/// Logits of what stands at each place: norm(activation(dense(bert))) · tokenᵀ + bias, [B, T, V].
class MaskedLM : public Layer<MaskedLM> {
 public:
  explicit MaskedLM(const BERTOptions& options);
  Tensor forward(const Tensor& ids, const std::vector<std::int64_t>& lengths = {}) const;
  /// Mean cross-entropy over the positions whose target is not −100, 0 if there are none. Only
  /// these positions get logits.
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

/// Class logits [B, classes] of the first token's vector, through tanh(pooler); Devlin et al. 2019.
class TextClassifier : public Layer<TextClassifier> {
 public:
  TextClassifier(const BERTOptions& options, std::int64_t classes);
  Tensor forward(const Tensor& ids, const std::vector<std::int64_t>& lengths = {}) const;
  Members members() override { return {{"bert", bert}, {"pooler", pooler}, {"head", head}}; }
  TextClassifier same_architecture() const { return {bert.options, head.weight.size(0)}; }

  BERT bert;
  Linear pooler, head;  // [C, C], [classes, C]
};

struct MaskTokensOptions {
  std::int64_t vocab = 0, mask_id = 0;
  std::int64_t first_id = 0;  // ids below it (padding, start, …) are never masked nor drawn
  double rate = 0.15;
};
struct MaskedTokens {
  Tensor ids;      // [B, T]
  Tensor targets;  // [B, T]: the original at the chosen positions, −100 elsewhere
};
/// Chooses `rate` of the tokens; of those 80 % become mask_id, 10 % a random token, 10 % stay.
MaskedTokens mask_tokens(const Tensor& ids, const MaskTokensOptions& options,
                         const RandomStream& random);

}  // namespace gradus::nn
