#include "gradus/train/optim/groups.h"

#include <algorithm>

#include "gradus/nn/pattern.h"

namespace gradus::optim {

void freeze(nn::Module& model, const std::string& pattern, bool frozen) {
  for (nn::NamedTensor& each : nn::matching(model.parameters(), pattern))
    each.tensor.requires_grad_(!frozen);
}

std::vector<Group> groups(const std::vector<nn::NamedTensor>& parameters,
                          const std::vector<Rule>& rules) {
  std::vector<Group> out;
  std::vector<nn::NamedTensor> rest = parameters;
  for (const Rule& rule : rules) {
    static_cast<void>(nn::matching(parameters, rule.pattern));  // throws if it matches nothing
    const auto own = std::stable_partition(
        rest.begin(), rest.end(),
        [&](const nn::NamedTensor& each) { return !nn::matches(rule.pattern, each.name); });
    out.push_back({{own, rest.end()}, rule.lr, rule.weight_decay});
    rest.erase(own, rest.end());
  }
  out.push_back({std::move(rest)});
  return out;
}

}  // namespace gradus::optim
