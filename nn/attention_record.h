// AttentionRecord: the weights of every attention layer that runs while it lives.
#pragma once

#include <string>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus::nn {

/// While it lives, each attention layer on this thread runs as its formula and leaves its weights
/// here, whatever model it stands in. They are recorded like everything else, so that a loss may
/// use them. The innermost record of a thread gets them.
///
///   nn::AttentionRecord record;
///   model(ids);
///   const Tensor weights = record.weights("blocks.0.attention");   // [B, H, T, S]
class AttentionRecord {
 public:
  struct Entry {
    std::string layer;  // its path in the model, "" if it was called on its own
    Tensor weights;     // [B, H, T, S], before dropout; rows sum to 1, or are 0
  };
  [[nodiscard]] AttentionRecord();
  ~AttentionRecord();
  AttentionRecord(const AttentionRecord&) = delete;
  AttentionRecord& operator=(const AttentionRecord&) = delete;

  const std::vector<Entry>& entries() const { return entries_; }  // in the order of the calls
  /// The latest of that layer; ValueError lists those that there are.
  const Tensor& weights(const std::string& layer) const;
  void clear() { entries_.clear(); }

  /// Mean over all layers, heads and queries of −Σ p log p, in nats; a loss may ask for more or
  /// less of it. ValueError where nothing was recorded.
  Tensor mean_entropy() const;
  /// How each head looks, in the order of the entries: what a training run logs.
  struct Head {
    std::string layer;
    std::int64_t head;
    double entropy;  // nats: 0 where each query looks at one key
    double span;     // |query − key| on average, rows counted as positions
    double maximum;  // the largest weight of a query, on average
  };
  std::vector<Head> heads() const;

  /// The innermost record of this thread, or null. Called by attention layers.
  static AttentionRecord* current();
  void add(const Tensor& weights);  // of the layer that is running

 private:
  std::vector<Entry> entries_;
  AttentionRecord* outer_;
};

}  // namespace gradus::nn
