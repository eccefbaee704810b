// Data: what a training step sees, as a pure function of a seed and a step number.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "gradus/engine/tensor.h"
#include "gradus/nn/models/padded_batch.h"

namespace gradus::train {

struct Batch {
  Tensor x, y;
};

/// Batches of sequences that are about equally long, so that little is padding. Each pass over them
/// visits every sequence once, in an order of its own; at(step) is a pure function of the seed and
/// the step, so resuming is a number. Not for several threads at once: a pass is kept.
class LengthBuckets {
 public:
  /// `lengths[i]` is sequence i's; batches have `batch` sequences, the last of each pass what is
  /// left. Sequences are shuffled, sorted by length within `pool` batches, and these shuffled: a
  /// pool of 1 is plain shuffling, a large one has the least padding. ValueError.
  LengthBuckets(std::vector<std::int64_t> lengths, std::int64_t batch, std::uint64_t seed,
                std::int64_t pool = 16);
  std::vector<std::int64_t> at(std::int64_t step) const;  // which sequences
  std::int64_t batches_per_pass() const;

 private:
  void shuffle_for(std::int64_t pass) const;
  std::vector<std::int64_t> lengths_;
  std::int64_t batch_, pool_;
  std::uint64_t seed_;
  mutable std::int64_t pass_ = -1;                          // whose batches these are:
  mutable std::vector<std::vector<std::int64_t>> batches_;  // kept until another pass is asked for
};

/// A batch for translation: the target is read from `input` (begin, then its tokens) and predicted
/// as `output` (its tokens, then end), which is `pad` where there is nothing to predict.
struct PairBatch {
  PaddedBatch source;   // ids [B, S]
  PaddedBatch input;    // ids [B, T], lengths as output's
  Tensor output;        // i64 [B, T]: cross_entropy(…, {.ignore_index = pad})
  std::int64_t tokens;  // of `output`, without padding
};
struct PairTokens {
  std::int64_t pad = 0, begin = 1, end = 2;  // ids that no text has
};
using Sequence = std::vector<std::int64_t>;
class PairBatches {
 public:
  /// Buckets by the longer of source and target. ValueError: an empty source, or none at all.
  PairBatches(std::vector<std::pair<Sequence, Sequence>> pairs, std::int64_t batch,
              std::uint64_t seed, PairTokens tokens = {});
  PairBatch at(std::int64_t step) const;
  /// All pairs once, in order: for evaluation.
  std::vector<PairBatch> once() const;
  std::int64_t size() const { return static_cast<std::int64_t>(pairs_.size()); }

 private:
  PairBatch gather(const std::vector<std::int64_t>& which) const;
  std::vector<std::pair<Sequence, Sequence>> pairs_;
  PairTokens tokens_;
  std::int64_t batch_;
  LengthBuckets buckets_;
};

/// One pass over the rows of x [N, …] and y [N, …] in shuffled batches of `size` (the last may be
/// smaller); another seed, another order.  for (const Batch& batch : batches(x, y, 32, epoch)) …
std::vector<Batch> batches(const Tensor& x, const Tensor& y, std::int64_t size, std::uint64_t seed);

/// Next-token batches from one long text: at(step) takes `batch` random windows of `context` tokens
/// and the same windows one token later. Nothing is kept between steps: resuming is a number.
class TokenBatches {
 public:
  /// ValueError when the text has fewer than context + 1 tokens.
  TokenBatches(std::vector<std::int64_t> tokens, std::int64_t context, std::int64_t batch,
               std::uint64_t seed);
  Batch at(std::int64_t step) const;  // x, y: i64 [batch, context]

  /// The whole text once, in order, in windows side by side, `batch` at a time: for evaluation. The
  /// last window is shorter, and comes alone.
  std::vector<Batch> once() const;
  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }

 private:
  Batch windows(const std::vector<std::int64_t>& starts, std::int64_t length) const;
  std::vector<std::int64_t> tokens_;
  std::int64_t context_, batch_;
  std::uint64_t seed_;
};

}  // namespace gradus::train
