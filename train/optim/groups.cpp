// Patterns are compared by edit distance, in which * takes characters for nothing: a match is a
// distance of 0, and the nearest names are those that a misspelt pattern meant.
#include "gradus/train/optim/groups.h"

#include <algorithm>
#include <numeric>

#include "gradus/engine/base/error.h"

namespace gradus::optim {
namespace {

constexpr std::size_t kNear = 3;  // names that a message lists

/// The least number of characters to change, add or leave out until the pattern fits the name.
std::size_t distance(std::string_view pattern, std::string_view name) {
  std::vector<std::size_t> row(name.size() + 1), above;  // of the pattern's first i characters
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (const char c : pattern) {
    above = row;
    const bool any = c == '*';
    row[0] += any ? 0 : 1;
    for (std::size_t j = 1; j < row.size(); ++j)
      row[j] = any ? std::min(above[j], row[j - 1])
                   : std::min({above[j - 1] + (c == name[j - 1] ? 0u : 1u), above[j] + 1,
                               row[j - 1] + 1});
  }
  return row.back();
}

}  // namespace

bool matches(std::string_view pattern, std::string_view name) {
  return distance(pattern, name) == 0;
}

std::vector<nn::NamedTensor> matching(const std::vector<nn::NamedTensor>& parameters,
                                      const std::string& pattern) {
  std::vector<nn::NamedTensor> found;
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const nn::NamedTensor& each : parameters) {
    if (matches(pattern, each.name)) found.push_back(each);
    near.emplace_back(distance(pattern, each.name), each.name);
  }
  if (!found.empty()) return found;
  std::sort(near.begin(), near.end());
  std::string names;
  for (std::size_t i = 0; i < std::min(near.size(), kNear); ++i)
    names += (i == 0 ? "" : ", ") + near[i].second;
  fail<ValueError>("the pattern ", "\"" + pattern + "\"", " matches none of ", near.size(),
                   " parameters (* stands for any characters)",
                   names.empty() ? "" : "; the nearest are " + names);
}

void freeze(nn::Module& model, const std::string& pattern, bool frozen) {
  for (nn::NamedTensor& each : matching(model.parameters(), pattern))
    each.tensor.requires_grad_(!frozen);
}

std::vector<Group> groups(const std::vector<nn::NamedTensor>& parameters,
                          const std::vector<Rule>& rules) {
  std::vector<Group> out;
  std::vector<nn::NamedTensor> rest = parameters;
  for (const Rule& rule : rules) {
    matching(parameters, rule.pattern);  // the error, where it matches none at all
    Group group{{}, rule.lr, rule.weight_decay};
    const auto mine = std::stable_partition(
        rest.begin(), rest.end(),
        [&](const nn::NamedTensor& each) { return !matches(rule.pattern, each.name); });
    group.parameters.assign(mine, rest.end());
    rest.erase(mine, rest.end());
    out.push_back(std::move(group));
  }
  out.push_back({std::move(rest)});
  return out;
}

}  // namespace gradus::optim
