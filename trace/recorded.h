// The graph behind a tensor, in a deterministic order.
#pragma once

#include <map>
#include <vector>

#include "gradus/engine/node.h"
#include "gradus/nn/module.h"

namespace gradus::trace {

/// The node of x and its dependencies, newest first; empty if none. The graph must outlive the
/// pointers.
std::vector<const Node*> nodes_behind(const Tensor& x);

/// Inputs of `node` with a gradient, newest first, with repetitions.
std::vector<const Node*> inputs_of(const Node& node);

/// A model's parameters by node.
class Parameters {
 public:
  explicit Parameters(const nn::Module* model);  // null: none

  const nn::NamedTensor* of(const Node& leaf) const;  // or nullptr
  const std::vector<nn::NamedTensor>& all() const { return all_; }

 private:
  std::vector<nn::NamedTensor> all_;
  std::map<const Node*, std::size_t> index_;
};

}  // namespace gradus::trace
