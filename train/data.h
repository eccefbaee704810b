// Batches of training data, computed from a seed and a step.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "gradus/engine/tensor.h"
#include "gradus/nn/models/padded_batch.h"

namespace gradus::train {

/// Inputs and targets of one training step.
struct Batch {
  Tensor x, y;
};

/// Batches of sequences of similar length, which need little padding. Each pass visits every
/// sequence once, in a new order. Not thread-safe.
class LengthBuckets {
 public:
  /// Shuffles sequences of these lengths, sorts them within each pool of `pool` batches, and
  /// shuffles the batches. Larger pools need less padding. Throws ValueError if there are no
  /// sequences or a size is not positive.
  LengthBuckets(std::vector<std::int64_t> lengths, std::int64_t batch, std::uint64_t seed,
                std::int64_t pool = 16);
  std::vector<std::int64_t> at(std::int64_t step) const;  // indices of sequences
  std::int64_t batches_per_pass() const;

 private:
  void shuffle_for(std::int64_t pass) const;
  std::vector<std::int64_t> lengths_;
  std::int64_t batch_, pool_;
  std::uint64_t seed_;
  mutable std::int64_t pass_ = -1;
  mutable std::vector<std::vector<std::int64_t>> batches_;
};

/// Translation batch. The decoder reads `input` (begin, target) and predicts `output` (target,
/// end). Sequences are padded with `pad`.
struct PairBatch {
  PaddedBatch source;   // ids [B, S]
  PaddedBatch input;    // ids [B, T], same lengths as `output`
  Tensor output;        // i64 [B, T]: cross_entropy(…, {.ignore_index = pad})
  std::int64_t tokens;  // number of tokens in `output`
};
struct PairTokens {
  std::int64_t pad = 0, begin = 1, end = 2;  // ids that do not occur in the texts
};
using Sequence = std::vector<std::int64_t>;
class PairBatches {
 public:
  /// Groups pairs into buckets by the longer of source and target. Throws ValueError if there are
  /// no pairs or if a source is empty.
  PairBatches(std::vector<std::pair<Sequence, Sequence>> pairs, std::int64_t batch,
              std::uint64_t seed, PairTokens tokens = {});
  PairBatch at(std::int64_t step) const { return gather(buckets_.at(step)); }
  /// Returns all pairs once, in order, for evaluation.
  std::vector<PairBatch> once() const;
  std::int64_t size() const { return static_cast<std::int64_t>(pairs_.size()); }

 private:
  PairBatch gather(const std::vector<std::int64_t>& which) const;
  std::vector<std::pair<Sequence, Sequence>> pairs_;
  PairTokens tokens_;
  std::int64_t batch_;
  LengthBuckets buckets_;
};

/// Returns shuffled batches of `size` rows of x and y [N, …]; the last may be smaller.
///   for (const Batch& batch : batches(x, y, 32, seed)) …
std::vector<Batch> batches(const Tensor& x, const Tensor& y, std::int64_t size, std::uint64_t seed);

/// Next-token batches. x contains `batch` random windows of `context` tokens. y contains the same
/// windows one token later.
class TokenBatches {
 public:
  /// Throws ValueError if the text has fewer than context + 1 tokens.
  TokenBatches(std::vector<std::int64_t> tokens, std::int64_t context, std::int64_t batch,
               std::uint64_t seed);
  Batch at(std::int64_t step) const;  // x, y: i64 [batch, context]

  /// Returns the entire text once, in adjacent windows, for evaluation. A shorter last window forms
  /// a separate batch.
  std::vector<Batch> once() const;
  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }

 private:
  Batch windows(const std::vector<std::int64_t>& starts, std::int64_t length) const;
  std::vector<std::int64_t> tokens_;
  std::int64_t context_, batch_;
  std::uint64_t seed_;
};

}  // namespace gradus::train
