#pragma once

#include <optional>

#include "gradus/nn/module.h"
#include "gradus/nn/weight_provider.h"

namespace gradus::nn {

/// Options of Embedding.
struct EmbeddingOptions {
  std::optional<std::int64_t> padding_idx = {};  // its row starts as 0 and gets no gradient
};

/// Looks up rows of a table: ids i64 [...] in [0, vocab) → [..., width]. Rows are initialized from
/// normal(0, 1). Throws IndexError for other ids.
class Embedding : public Layer<Embedding> {
 public:
  Embedding() = default;  // undefined until assigned
  Embedding(std::int64_t vocab, std::int64_t width, EmbeddingOptions options = {});
  Tensor forward(const Tensor& ids) const;
  /// Uses the table as an output projection: x [..., width] → x Wᵀ + bias, [..., vocab].
  Tensor project(const Tensor& x, const Tensor& bias = {}) const;
  Members members() override { return with_provider({{"weight", weight}}, provider); }
  Embedding same_architecture() const { return {weight.size(0), weight.size(1), options}; }

  EmbeddingOptions options;
  Tensor weight;                             // [vocab, width]; undefined if packed
  std::unique_ptr<WeightProvider> provider;  // if not null, replaces the weight

 protected:
  void match_structure(const Module& from) override { copy_provider(*this, from); }
};

}  // namespace gradus::nn
