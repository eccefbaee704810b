// What is recorded behind a tensor, in an order that can be told.
#pragma once

#include <map>
#include <vector>

#include "gradus/engine/node.h"
#include "gradus/nn/module.h"

namespace gradus::trace {

/// The node of x and all that it depends on, newest first; none where nothing is recorded. Needs no
/// recursion. The graph must outlive the pointers.
std::vector<const Node*> nodes_behind(const Tensor& x);

/// The inputs of `node` that carry a gradient, newest first; as often as it has them.
std::vector<const Node*> inputs_of(const Node& node);

/// Parameters by their node: what a model adds to a graph.
class Parameters {
 public:
  explicit Parameters(const nn::Module* model);  // null: none

  const nn::NamedTensor* of(const Node& leaf) const;  // nullptr: not of this model
  const std::vector<nn::NamedTensor>& all() const { return all_; }

 private:
  std::vector<nn::NamedTensor> all_;
  std::map<const Node*, std::size_t> index_;
};

}  // namespace gradus::trace
