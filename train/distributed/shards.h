// One training step in shards, whose result does not depend on how many processes compute it.
//
// A step has a fixed number of shards. Each has a loss of its own, examples of its own, and a
// random stream of its own: that of (seed, position at the step's beginning, shard). Processes have
// contiguous shards. The gradient is
//
//   g = Σ count_s · ∇mean_s / Σ count_s     over all shards s, added as fold.h says
//
// so that means of unequal counts are no means of means. Then each process updates its part of the
// parameters (Optimizer::shard) and sends the result to all others: as many bytes as an all-reduce.
// Buffers (batch statistics) begin a step alike in each shard and end it as their mean.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "gradus/nn/module.h"
#include "gradus/train/distributed/fold.h"
#include "gradus/train/distributed/transport.h"
#include "gradus/train/optim/optim.h"

namespace gradus {

/// What a shard's forward pass gives: a scalar, the mean of the losses of `count` tokens (or other
/// items). Where there are several shards each weighs by its count; 0: the shard does not count.
struct BatchLoss {
  BatchLoss(Tensor loss) : mean(std::move(loss)) {}  // NOLINT: a loss alone will do
  BatchLoss(Tensor loss, std::int64_t of) : mean(std::move(loss)), count(of) {}
  Tensor mean;
  std::int64_t count = 1;
};

namespace distributed {

inline constexpr std::int64_t kCheckEvery = 50;  // steps between comparisons of all parameters

class Shards {
 public:
  using LossOf = std::function<BatchLoss(std::int64_t i)>;  // i = step · count + shard

  /// Keeps references. Calls optimizer.shard(transport). ValueError: fewer shards than processes;
  /// DtypeError: parameters, or buffers with a fraction, are not of one dtype.
  Shards(nn::Module& model, optim::Optimizer& optimizer, Transport& transport, std::int64_t count);

  /// Forward and backward of this process's shards; returns the mean loss of all. Every 50 steps
  /// parameters and buffers of all processes are compared before they are changed. `stop` becomes
  /// true where it is true in one process. ValueError: all counts are 0.
  double gradients(std::int64_t step, const LossOf& loss_of, bool& stop);

  /// After gradients(): brings the shards' gradients together, and steps. Returns the norm, as
  /// Optimizer::step. clip_value as in TrainOptions.
  double update(optim::StepOptions options, double clip_value);

  std::int64_t count() const { return count_; }
  /// What one step sends from this process to others, without the comparison.
  std::int64_t bytes_a_step() const;

 private:
  void run_shard(std::int64_t step, std::int64_t shard, const LossOf& loss_of);
  double share_losses(bool& stop, std::uint32_t& position);
  std::size_t message_numbers() const;
  Tensor reduce();
  void share(const Tensor& buffers);
  Tensor place(const Tensor& flat, std::size_t i) const;  // the i-th tensor's, in its shape
  std::int64_t part_numel(int rank) const;

  optim::Optimizer& optimizer_;
  Transport& transport_;
  std::int64_t count_;
  ShardRange own_;
  std::vector<nn::NamedTensor> tensors_;  // parameters, then buffers: the flat vector
  std::size_t parameters_ = 0;            // of them
  Dtype dtype_ = Dtype::f32;
  std::vector<std::int64_t> offsets_;  // of each tensor in the flat vector
  std::int64_t numel_ = 0;
  std::vector<std::int64_t> cuts_;  // buffers belong to the last process
  Fold fold_;
  std::vector<double> losses_;  // mean and count of each shard of this process
  std::vector<char> reached_;   // parameters, by any shard
  double total_ = 0;            // of all counts
  bool compared_ = false;
};

}  // namespace distributed
}  // namespace gradus
