// Parameters by name: which ones share settings, and which ones stay as they are.
//
// A pattern is a name in which * stands for any characters, none among them: "encoder.*",
// "*.bias", "blocks.*.attention.*". One that matches nothing is a ValueError that lists the
// nearest names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gradus/train/optim/optim.h"

namespace gradus::optim {

/// Does the whole name fit the pattern?
bool matches(std::string_view pattern, std::string_view name);

/// Those of `parameters` that match, in their order.
std::vector<nn::NamedTensor> matching(const std::vector<nn::NamedTensor>& parameters,
                                      const std::string& pattern);

/// These parameters stop (or start) wanting gradients. Optimisers leave what has none as it is.
void freeze(nn::Module& model, const std::string& pattern, bool frozen = true);

/// Settings for a pattern; a negative one stands for the optimiser's own.
struct Rule {
  std::string pattern;
  double lr = -1;
  double weight_decay = -1;
};
/// One group for each rule, and a last one for all others: a parameter belongs to the first rule
/// that it matches.  AdamW(groups(model.parameters(), {{"*.bias", -1, 0}, {"encoder.*", 1e-4}}))
std::vector<Group> groups(const std::vector<nn::NamedTensor>& parameters,
                          const std::vector<Rule>& rules);

}  // namespace gradus::optim
