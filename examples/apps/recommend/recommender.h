#pragma once

#include <vector>

#include "gradus/nn/embedding.h"
#include "gradus/nn/transformer.h"

namespace gradus::examples {

struct RecommenderOptions {
  std::int64_t items = 0;    // ids 1 … items; 0 is padding
  std::int64_t context = 0;  // longest history
  std::int64_t layers = 2, heads = 1, width = 0;
  double dropout = 0;
};

/// Predicts the next item. SASRec (Kang & McAuley 2018): item · √C + learned position, causal
/// blocks, and dot products with the items' embeddings. Maps histories i64 [B, T], with padding
/// first, to scores [B, T, items + 1], −∞ for item 0. Positions count from the first item, so
/// padding does not affect the scores.
class Recommender : public nn::Layer<Recommender> {
 public:
  explicit Recommender(const RecommenderOptions& options);
  Tensor forward(const Tensor& items) const;
  /// Returns the mean cross-entropy of the next items, i64 [B, T]. Ignores 0.
  Tensor loss(const Tensor& items, const Tensor& next) const;
  nn::Members members() override {
    return {{"item", item}, {"position", position}, {"stack", stack}};
  }

  RecommenderOptions options;
  nn::Embedding item;      // [items + 1, C]
  nn::Embedding position;  // [context, C]
  nn::Encoder stack;
};

}  // namespace gradus::examples
