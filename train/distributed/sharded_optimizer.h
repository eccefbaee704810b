// Optimizer state in several processes.
//
// All parameters form one flat vector, cut into one part per process, which updates it and keeps
// its state. Results are bitwise independent of the number of processes: cuts are at multiples of
// kChunk elements of a parameter, and norms are sums over chunks.
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
  /// Drops the state of other parts. With several processes, the optimizer's own step(),
  /// state_dict() and step_in_backward() then throw GraphError. Throws GraphError if it is already
  /// sharded or step_in_backward() was called.
  ShardedOptimizer(optim::Optimizer& optimizer, Transport& transport);

  const std::vector<nn::NamedTensor>& parameters() const { return parameters_; }
  /// Process r owns elements cuts()[r] … cuts()[r + 1] of the flat vector.
  const std::vector<std::int64_t>& cuts() const { return cuts_; }
  std::int64_t begin() const { return cuts_[rank()]; }  // this process's part
  std::int64_t end() const { return cuts_[rank() + 1]; }
  /// Sums of squares that a step sends to each process.
  std::int64_t chunks() const { return chunk_cuts_[rank() + 1] - chunk_cuts_[rank()]; }

  /// Optimizer::step of this part, `gradient` [end() − begin()]. reached[i]: some process has a
  /// gradient of parameter i. Collective.
  double step(const Tensor& gradient, const std::vector<char>& reached,
              const optim::StepOptions& options = {});

  void zero_grad() { optimizer_.zero_grad(); }

  /// The entire state at rank 0, else empty. Collective.
  nn::StateDict state_dict() const;
  /// Loads this part. Throws as Optimizer::load_state_dict.
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
