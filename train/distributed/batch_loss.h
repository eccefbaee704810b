// Loss of a batch or shard.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "gradus/engine/tensor.h"

namespace gradus::distributed {

/// Mean loss of `count` tokens (or other items), a scalar. Shards are weighted by `count`; 0 skips
/// a shard.
struct BatchLoss {
  BatchLoss(Tensor loss) : mean(std::move(loss)) {}  // NOLINT: implicit for loss functions
  BatchLoss(Tensor loss, std::int64_t of) : mean(std::move(loss)), count(of) {}
  Tensor mean;
  std::int64_t count = 1;  // number of tokens in the mean
};

/// Returns the loss of batch i. With shards, returns the loss of shard i % shards in step i /
/// shards.
using LossOf = std::function<BatchLoss(std::int64_t i)>;

}  // namespace gradus::distributed
