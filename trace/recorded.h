#pragma once

#include <map>
#include <vector>

#include "gradus/engine/node.h"
#include "gradus/nn/module.h"

namespace gradus::trace {

/// Returns the node of x and its dependencies, newest first; empty if x has no node. The graph must
/// outlive the pointers.
std::vector<const Node*> nodes_behind(const Tensor& x);

/// Returns the inputs of `node` that require a gradient, newest first, with repetitions.
std::vector<const Node*> inputs_of(const Node& node);

/// A model's parameters, by leaf node.
class Parameters {
 public:
  explicit Parameters(const nn::Module* model);  // null: no parameters

  const nn::NamedTensor* of(const Node& leaf) const;  // nullptr if not a parameter
  const std::vector<nn::NamedTensor>& all() const { return all_; }

 private:
  std::vector<nn::NamedTensor> all_;
  std::map<const Node*, std::size_t> index_;
};

}  // namespace gradus::trace
