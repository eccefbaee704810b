// Embedding: a learned vector for each token.
#pragma once

#include <optional>

#include "gradus/nn/module.h"

namespace gradus::nn {

struct EmbeddingOptions {
  std::optional<std::int64_t> padding_idx = {};  // its row starts 0 and gets no gradient
};

/// Rows of a table: ids i64 [...] in [0, vocab) → [..., width]. Rows start normal(0, 1).
/// IndexError names the id that is out of range, and where it stands. Packed
/// (nn/extras/packing.h), the table takes less room and is not trained.
class Embedding : public Layer<Embedding> {
 public:
  Embedding() = default;  // undefined: a place for one
  Embedding(std::int64_t vocab, std::int64_t width, EmbeddingOptions options = {});
  Tensor forward(const Tensor& ids) const;
  /// The table as an output projection: x [..., width] → x Wᵀ + bias, [..., vocab].
  Tensor project(const Tensor& x, const Tensor& bias = {}) const;
  Members members() override { return {{"weight", weight, &packed}}; }
  Embedding same_architecture() const { return {weight.size(0), weight.size(1), options}; }

  EmbeddingOptions options;
  Tensor weight;        // [vocab, width]; undefined where packed
  PackedMatrix packed;  // undefined where not
};

}  // namespace gradus::nn
