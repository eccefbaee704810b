// The loss of a batch, or of one shard of it.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "gradus/engine/tensor.h"

namespace gradus::distributed {

/// The result of a shard's forward pass: a scalar, the mean of the losses of `count` tokens (or
/// other items). Each shard weighs by its count; one with a count of 0 is left out.
struct BatchLoss {
  BatchLoss(Tensor loss) : mean(std::move(loss)) {}  // NOLINT: implicit for loss functions
  BatchLoss(Tensor loss, std::int64_t of) : mean(std::move(loss)), count(of) {}
  Tensor mean;
  std::int64_t count = 1;
};

/// The loss of batch i, or of shard i % shards of step i / shards.
using LossOf = std::function<BatchLoss(std::int64_t i)>;

}  // namespace gradus::distributed
