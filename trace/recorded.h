// Traverses the graph behind a tensor in a deterministic order.
#pragma once

#include <map>
#include <vector>

#include "gradus/engine/node.h"
#include "gradus/nn/module.h"

namespace gradus::trace {

/// The node of x and all its dependencies, newest first; empty if nothing is recorded. Not
/// recursive. The graph must outlive the pointers.
std::vector<const Node*> nodes_behind(const Tensor& x);

/// The inputs of `node` that carry a gradient, newest first, repeated if used repeatedly.
std::vector<const Node*> inputs_of(const Node& node);

/// Parameters of a model by node.
class Parameters {
 public:
  explicit Parameters(const nn::Module* model);  // null: no parameters

  const nn::NamedTensor* of(const Node& leaf) const;  // nullptr: not a parameter of this model
  const std::vector<nn::NamedTensor>& all() const { return all_; }

 private:
  std::vector<nn::NamedTensor> all_;
  std::map<const Node*, std::size_t> index_;
};

}  // namespace gradus::trace
