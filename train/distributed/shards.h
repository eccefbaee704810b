// A training step that is split into shards. Its result does not depend on the number of processes.
//
// Each shard has its own examples, loss and random stream, determined by the seed, the random
// position at the start of the step, and the shard number. Each process computes consecutive
// shards. The gradient is
//
//   g = Σ count_s · ∇mean_s / Σ count_s     over all shards s, added in the order of fold.h
//
// Then each process updates its part of the parameters (sharded_optimizer.h) and sends it to all
// processes. A step sends the bytes of an all-reduce. All shards start from the same buffers
// (batch statistics), which are averaged after the step.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/nn/module.h"
#include "gradus/train/distributed/batch_loss.h"
#include "gradus/train/distributed/fold.h"
#include "gradus/train/distributed/sharded_optimizer.h"
#include "gradus/train/distributed/transport.h"

namespace gradus::distributed {

inline constexpr std::int64_t kCheckEvery = 50;  // steps between parameter comparisons

/// Runs the shards of a training step that are assigned to this process.
class Shards {
 public:
  /// Shards the optimizer. Throws ValueError if there are fewer shards than processes, and
  /// DtypeError unless parameters and floating-point buffers have the same dtype.
  Shards(nn::Module& model, optim::Optimizer& optimizer, Transport& transport, std::int64_t count);

  /// Runs forward and backward for this process's shards, and returns the mean loss of all shards.
  /// Sets `stop` to true if it is true in any process. Compares parameters every kCheckEvery steps.
  /// Throws ValueError if all counts are 0.
  double gradients(std::int64_t step, const LossOf& loss_of, bool& stop);

  /// Combines all gradients and updates the parameters. Returns the gradient norm. clip_value > 0
  /// limits each gradient element.
  double update(const optim::StepOptions& options, double clip_value);

  ShardedOptimizer& optimizer() { return optimizer_; }
  std::int64_t count() const { return count_; }
  /// Returns the bytes sent per step, without parameter comparisons.
  std::int64_t bytes_a_step() const;

 private:
  void run_shard(std::int64_t step, std::int64_t shard, const LossOf& loss_of);
  double share_losses(bool& stop, std::uint32_t& position);
  std::size_t message_size() const;
  Tensor reduce();
  void share(const Tensor& buffers);
  Tensor place(const Tensor& flat, std::size_t i) const;  // elements of tensor i in `flat`
  std::int64_t part_numel() const { return cuts_[rank() + 1] - cuts_[rank()]; }
  std::size_t rank() const { return static_cast<std::size_t>(transport_.rank()); }

  Transport& transport_;
  std::int64_t count_;
  ShardRange own_;
  ShardedOptimizer optimizer_;
  std::vector<nn::NamedTensor> tensors_;  // flat vector: parameters, then buffers
  std::size_t parameters_ = 0;
  Dtype dtype_ = Dtype::f32;
  std::vector<std::int64_t> offsets_;
  std::int64_t numel_ = 0;
  std::vector<std::int64_t> cuts_;  // the last part also contains the buffers
  Fold fold_;
  std::vector<double> losses_;  // mean and count of each local shard
  std::vector<char> reached_;   // true if any shard has a gradient
  double total_ = 0;            // sum of counts
  bool compared_ = false;
};

}  // namespace gradus::distributed
