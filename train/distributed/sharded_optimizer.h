// An optimizer whose state is divided among processes: ZeRO stage 1, Rajbhandari et al. 2020.
//
// The parameters, one after the other in the order of the groups, are one flat vector, which is cut
// into one part per process. Each process keeps the state of its part and updates it. Results are
// the same bits for any number of processes: cuts are at multiples of kChunk elements of a
// parameter, and the norm is a sum over chunks. With one process the part is everything.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "gradus/train/distributed/transport.h"
#include "gradus/train/optim/optim.h"

namespace gradus::distributed {

class ShardedOptimizer {
 public:
  /// Keeps references. The optimizer drops the state of the other parts; its step(), state_dict()
  /// and step_in_backward() throw GraphError from now on if there are several processes. GraphError
  /// if it is sharded already or after step_in_backward().
  ShardedOptimizer(optim::Optimizer& optimizer, Transport& transport);

  /// The flat vector's parameters.
  const std::vector<nn::NamedTensor>& parameters() const { return parameters_; }
  /// Process r has the elements cuts()[r] … cuts()[r + 1] of the flat vector.
  const std::vector<std::int64_t>& cuts() const { return cuts_; }
  std::int64_t begin() const { return cuts_[rank()]; }  // this process's part of it
  std::int64_t end() const { return cuts_[rank() + 1]; }
  /// The sums of squares that a step sends to each other process.
  std::int64_t chunks() const { return chunk_cuts_[rank() + 1] - chunk_cuts_[rank()]; }

  /// Optimizer::step of this process's part. `gradient` [end() − begin()] is that part of the flat
  /// gradient; reached[i] says whether parameter i has one in any process. All processes call it.
  double step(const Tensor& gradient, const std::vector<char>& reached,
              const optim::StepOptions& options = {});

  void zero_grad() { optimizer_.zero_grad(); }

  /// The entire state at rank 0, and nothing elsewhere. All processes call it.
  nn::StateDict state_dict() const;
  /// Takes this process's part of an entire state. ShapeError as Optimizer::load_state_dict.
  void load_state_dict(const nn::StateDict& state) { optimizer_.load_state_dict(state); }

 private:
  std::size_t rank() const { return static_cast<std::size_t>(transport_.rank()); }
  std::pair<std::int64_t, std::int64_t> part(std::size_t i, std::size_t r) const;

  optim::Optimizer& optimizer_;
  Transport& transport_;
  std::vector<nn::NamedTensor> parameters_;
  std::vector<std::int64_t> offsets_;  // of each parameter in the flat vector
  std::vector<std::int64_t> cuts_, chunk_cuts_;
};

}  // namespace gradus::distributed
