// Loss of a batch or shard.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "gradus/engine/tensor.h"

namespace gradus::distributed {

/// A scalar, the mean loss of `count` tokens (or other items). Shards are weighted by count; 0
/// skips a shard.
struct BatchLoss {
  BatchLoss(Tensor loss) : mean(std::move(loss)) {}  // NOLINT: implicit for loss functions
  BatchLoss(Tensor loss, std::int64_t of) : mean(std::move(loss)), count(of) {}
  Tensor mean;
  std::int64_t count = 1;  // tokens in the mean
};

/// Loss of batch i, or of shard i % shards of step i / shards.
using LossOf = std::function<BatchLoss(std::int64_t i)>;

}  // namespace gradus::distributed
