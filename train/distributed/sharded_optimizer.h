// Divides optimizer state among processes.
//
// All parameters form one flat vector with one part per process. Each process updates its part and
// stores its state. The number of processes does not change any bit of the results: parts begin at
// multiples of kChunk elements in a parameter, and norms are sums over chunks.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "gradus/train/distributed/transport.h"
#include "gradus/train/optim/optim.h"

namespace gradus::distributed {

/// An optimizer with its state divided among processes (ZeRO stage 1, Rajbhandari et al. 2020).
class ShardedOptimizer {
 public:
  /// Drops the state of other parts. With multiple processes, step(), state_dict() and
  /// step_in_backward() of `optimizer` then throw GraphError. Throws GraphError if the optimizer is
  /// already sharded or step_in_backward() was called on it.
  ShardedOptimizer(optim::Optimizer& optimizer, Transport& transport);

  const std::vector<nn::NamedTensor>& parameters() const { return parameters_; }
  /// Process r owns elements cuts()[r] to cuts()[r + 1], exclusive, of the flat vector.
  const std::vector<std::int64_t>& cuts() const { return cuts_; }
  std::int64_t begin() const { return cuts_[rank()]; }  // start of this process's part
  std::int64_t end() const { return cuts_[rank() + 1]; }
  /// Number of sums of squares that a step sends to each process.
  std::int64_t chunks() const { return chunk_cuts_[rank() + 1] - chunk_cuts_[rank()]; }

  /// Updates this part like Optimizer::step. `gradient` has shape [end() − begin()]. reached[i] is
  /// true if any process has a gradient of parameter i. Collective.
  double step(const Tensor& gradient, const std::vector<char>& reached,
              const optim::StepOptions& options = {});

  void zero_grad() { optimizer_.zero_grad(); }

  /// Returns the entire state on rank 0, and an empty state on other ranks. Collective.
  nn::StateDict state_dict() const;
  /// Loads the state of this part. Throws like Optimizer::load_state_dict.
  void load_state_dict(const nn::StateDict& state) { optimizer_.load_state_dict(state); }

 private:
  std::size_t rank() const { return static_cast<std::size_t>(transport_.rank()); }
  std::pair<std::int64_t, std::int64_t> part(std::size_t i, std::size_t r) const;

  optim::Optimizer& optimizer_;
  Transport& transport_;
  std::vector<nn::NamedTensor> parameters_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::int64_t> cuts_, chunk_cuts_;
};

}  // namespace gradus::distributed
