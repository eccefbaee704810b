// One training step in shards, whose result does not depend on the number of processes.
//
// A step has a fixed number of shards. Each has its own examples, its own loss and its own random
// stream: that of (seed, position at the beginning of the step, shard). Each process computes
// consecutive shards. The gradient is
//
//   g = Σ count_s · ∇mean_s / Σ count_s     over all shards s, added in the order of fold.h
//
// so that shards with unequal counts are weighted correctly. Then each process updates its part of
// the parameters (sharded_optimizer.h) and sends it to all others: as many bytes as an all-reduce.
// Every shard of a step starts from the same buffers (batch statistics); afterwards they are the
// mean over the shards.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/nn/module.h"
#include "gradus/train/distributed/batch_loss.h"
#include "gradus/train/distributed/fold.h"
#include "gradus/train/distributed/sharded_optimizer.h"
#include "gradus/train/distributed/transport.h"

namespace gradus::distributed {

inline constexpr std::int64_t kCheckEvery = 50;  // steps between comparisons of all parameters

class Shards {
 public:
  /// Keeps references, and shards the optimizer. ValueError if there are fewer shards than
  /// processes; DtypeError unless parameters and floating-point buffers have one dtype.
  Shards(nn::Module& model, optim::Optimizer& optimizer, Transport& transport, std::int64_t count);

  /// Forward and backward pass of this process's shards. Returns the mean loss of all shards.
  /// `stop` becomes true in all processes if it is true in one. Every 50 steps the processes
  /// compare their parameters. ValueError if all counts are 0.
  double gradients(std::int64_t step, const LossOf& loss_of, bool& stop);

  /// After gradients(): combines the gradients of all shards and updates the parameters. Returns
  /// the norm, as Optimizer::step. clip_value > 0: limit of each element of the gradient.
  double update(const optim::StepOptions& options, double clip_value);

  ShardedOptimizer& optimizer() { return optimizer_; }
  std::int64_t count() const { return count_; }
  /// The bytes that one step sends from this process to others, without the comparison.
  std::int64_t bytes_a_step() const;

 private:
  void run_shard(std::int64_t step, std::int64_t shard, const LossOf& loss_of);
  double share_losses(bool& stop, std::uint32_t& position);
  std::size_t message_size() const;
  Tensor reduce();
  void share(const Tensor& buffers);
  Tensor place(const Tensor& flat, std::size_t i) const;  // tensor i's elements, in its shape
  std::int64_t part_numel() const { return cuts_[rank() + 1] - cuts_[rank()]; }
  std::size_t rank() const { return static_cast<std::size_t>(transport_.rank()); }

  Transport& transport_;
  std::int64_t count_;
  ShardRange own_;
  ShardedOptimizer optimizer_;
  std::vector<nn::NamedTensor> tensors_;  // parameters, then buffers: the flat vector
  std::size_t parameters_ = 0;            // how many of them are parameters
  Dtype dtype_ = Dtype::f32;
  std::vector<std::int64_t> offsets_;  // of each tensor in the flat vector
  std::int64_t numel_ = 0;
  std::vector<std::int64_t> cuts_;  // the optimizer's; the last process has the buffers, too
  Fold fold_;
  std::vector<double> losses_;  // mean and count of each shard of this process
  std::vector<char> reached_;   // the parameters that have a gradient in any shard
  double total_ = 0;            // of all counts
  bool compared_ = false;
};

}  // namespace gradus::distributed
