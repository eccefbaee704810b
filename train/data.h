// Data: what a training step sees, as a pure function of a seed and a step number.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus {

struct Batch {
  Tensor x, y;
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

}  // namespace gradus
