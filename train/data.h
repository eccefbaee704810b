// Batches of training data, as pure functions of a seed and a step number.
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

/// Batches of sequences of similar length, so that there is little padding. Each pass visits every
/// sequence once, in its own order; at(step) is a pure function of the seed and the step, so a run
/// resumes from the step alone. Not for several threads at once: it caches a pass.
class LengthBuckets {
 public:
  /// `lengths[i]` is the length of sequence i. A batch has `batch` sequences, the last of each pass
  /// may have fewer. Sequences are shuffled and sorted by length within `pool` batches, and the
  /// batches are shuffled: a pool of 1 only shuffles, a large one has the least padding. ValueError
  /// if there are no sequences or a size is not positive.
  LengthBuckets(std::vector<std::int64_t> lengths, std::int64_t batch, std::uint64_t seed,
                std::int64_t pool = 16);
  std::vector<std::int64_t> at(std::int64_t step) const;  // which sequences
  std::int64_t batches_per_pass() const;

 private:
  void shuffle_for(std::int64_t pass) const;
  std::vector<std::int64_t> lengths_;
  std::int64_t batch_, pool_;
  std::uint64_t seed_;
  mutable std::int64_t pass_ = -1;  // the pass whose batches are cached
  mutable std::vector<std::vector<std::int64_t>> batches_;
};

/// A batch for translation. The decoder reads the target as `input` (begin, then its tokens) and
/// predicts it as `output` (its tokens, then end), which is `pad` at padding.
struct PairBatch {
  PaddedBatch source;   // ids [B, S]
  PaddedBatch input;    // ids [B, T], lengths as output's
  Tensor output;        // i64 [B, T]: cross_entropy(…, {.ignore_index = pad})
  std::int64_t tokens;  // of `output`, without padding
};
struct PairTokens {
  std::int64_t pad = 0, begin = 1, end = 2;  // ids that do not occur in texts
};
using Sequence = std::vector<std::int64_t>;
class PairBatches {
 public:
  /// Buckets by the longer of source and target. ValueError: no pairs, or an empty source.
  PairBatches(std::vector<std::pair<Sequence, Sequence>> pairs, std::int64_t batch,
              std::uint64_t seed, PairTokens tokens = {});
  PairBatch at(std::int64_t step) const { return gather(buckets_.at(step)); }
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

/// Next-token batches from one long text: at(step) takes `batch` random windows of `context`
/// tokens, and the same windows one token later. A run resumes from the step alone.
class TokenBatches {
 public:
  /// ValueError if the text has fewer than context + 1 tokens.
  TokenBatches(std::vector<std::int64_t> tokens, std::int64_t context, std::int64_t batch,
               std::uint64_t seed);
  Batch at(std::int64_t step) const;  // x, y: i64 [batch, context]

  /// The entire text once, in order, in adjacent windows, `batch` at a time: for evaluation. The
  /// last window may be shorter, and is a batch of its own.
  std::vector<Batch> once() const;
  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }

 private:
  Batch windows(const std::vector<std::int64_t>& starts, std::int64_t length) const;
  std::vector<std::int64_t> tokens_;
  std::int64_t context_, batch_;
  std::uint64_t seed_;
};

}  // namespace gradus::train
