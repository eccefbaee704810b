// A name matches if its edit distance from the pattern is 0, where * may insert any characters at
// no cost. If nothing matches, the error suggests the names with the smallest distances.
#include "gradus/nn/pattern.h"

#include <algorithm>
#include <numeric>

#include "gradus/engine/base/error.h"

namespace gradus::nn {
namespace {

constexpr std::size_t kNear = 3;  // names to list in the error

/// Returns the fewest edits after which the pattern matches the name.
std::size_t distance(std::string_view pattern, std::string_view name) {
  if (const std::size_t comma = pattern.find(','); comma != std::string_view::npos)
    return std::min(distance(pattern.substr(0, comma), name),
                    distance(pattern.substr(comma + 1), name));
  std::vector<std::size_t> row(name.size() + 1), above;  // distances to prefixes of the name
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

std::vector<NamedTensor> matching(const std::vector<NamedTensor>& parameters,
                                  const std::string& pattern) {
  std::vector<NamedTensor> found;
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const NamedTensor& each : parameters) {
    near.emplace_back(distance(pattern, each.name), each.name);
    if (near.back().first == 0) found.push_back(each);
  }
  if (!found.empty()) return found;
  std::sort(near.begin(), near.end());
  std::string names;
  for (std::size_t i = 0; i < std::min(near.size(), kNear); ++i)
    names += (i == 0 ? "" : ", ") + near[i].second;
  fail<ValueError>("the pattern \"", pattern, "\" matches none of ", near.size(),
                   " parameters (* matches any characters)",
                   names.empty() ? "" : ". The nearest are " + names);
}

void freeze(Module& model, const std::string& pattern, bool frozen) {
  for (NamedTensor& each : matching(model.parameters(), pattern))
    each.tensor.requires_grad_(!frozen);
}

}  // namespace gradus::nn
