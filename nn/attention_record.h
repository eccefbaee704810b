#pragma once

#include <string>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus::nn {

/// RAII guard that collects the weights of each attention layer that runs on this thread. Only the
/// innermost guard collects. The weights are part of the graph.
///
///   nn::AttentionRecord record;
///   model(ids);
///   const Tensor weights = record.weights("blocks.0.attention");   // [B, H, T, S]
class AttentionRecord {
 public:
  struct Entry {
    std::string layer;  // path in the model; "" if the layer was called directly
    Tensor weights;     // [B, H, T, S], before dropout; rows sum to 1 or 0
  };
  [[nodiscard]] AttentionRecord();
  ~AttentionRecord();
  AttentionRecord(const AttentionRecord&) = delete;
  AttentionRecord& operator=(const AttentionRecord&) = delete;

  const std::vector<Entry>& entries() const { return entries_; }  // in call order
  /// Returns the latest weights of `layer`. Throws ValueError if there are none.
  const Tensor& weights(const std::string& layer) const;
  void clear() { entries_.clear(); }

  /// Returns the mean of −Σ p log p over layers, heads and queries, in nats. Differentiable. Throws
  /// ValueError if nothing was recorded.
  Tensor mean_entropy() const;
  /// Metrics of one head. heads() returns them in the order of entries().
  struct Head {
    std::string layer;
    std::int64_t head;
    double entropy;  // in nats; 0 if each query attends to one key
    double span;     // mean |query − key|, in positions
    double maximum;  // largest weight of each query, averaged over queries
  };
  std::vector<Head> heads() const;

  /// Returns the innermost record on this thread, or null.
  static AttentionRecord* current();
  void add(const Tensor& weights);  // records the weights of the running layer

 private:
  std::vector<Entry> entries_;
  AttentionRecord* outer_;
};

}  // namespace gradus::nn
