// Inputs are created before outputs, so visiting nodes in decreasing order of id visits each node
// after its users.
#include "gradus/trace/recorded.h"

#include <algorithm>
#include <iterator>

namespace gradus::trace {

std::vector<const Node*> nodes_behind(const Tensor& x) {
  std::vector<const Node*> nodes;
  std::map<std::uint64_t, const Node*> found;  // nodes by id
  if (x.node()) found.emplace(x.node()->id, x.node().get());
  while (!found.empty()) {
    const Node* node = found.extract(std::prev(found.end())).mapped();
    nodes.push_back(node);
    for (const auto& input : node->inputs)
      if (input) found.emplace(input->id, input.get());
  }
  return nodes;
}

std::vector<const Node*> inputs_of(const Node& node) {
  std::vector<const Node*> inputs;
  for (const auto& input : node.inputs)
    if (input) inputs.push_back(input.get());
  std::sort(inputs.begin(), inputs.end(),
            [](const Node* a, const Node* b) { return a->id > b->id; });
  return inputs;
}

Parameters::Parameters(const nn::Module* model) {
  if (!model) return;
  all_ = model->parameters();
  for (std::size_t i = 0; i < all_.size(); ++i) index_[all_[i].tensor.node().get()] = i;
}

const nn::NamedTensor* Parameters::of(const Node& leaf) const {
  const auto at = index_.find(&leaf);
  return at == index_.end() ? nullptr : &all_[at->second];
}

}  // namespace gradus::trace
