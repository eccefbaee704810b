// Parameters by name: which ones share settings, and which ones are frozen. nn/pattern.h defines
// the patterns; one that matches nothing is a ValueError that lists the nearest names.
#pragma once

#include <string>
#include <vector>

#include "gradus/train/optim/optim.h"

namespace gradus::optim {

/// The matching parameters no longer require gradients (or, with frozen = false, do again).
/// Optimizers do not change a parameter without a gradient.
void freeze(nn::Module& model, const std::string& pattern, bool frozen = true);

/// Settings for a pattern; a negative one takes the optimizer's.
struct Rule {
  std::string pattern;
  double lr = -1;
  double weight_decay = -1;
};
/// One group per rule, and a last one for all other parameters. A parameter belongs to the first
/// rule that it matches.
///   AdamW(groups(model.parameters(), {{"*.bias", -1, 0}, {"encoder.*", 1e-4}}))
std::vector<Group> groups(const std::vector<nn::NamedTensor>& parameters,
                          const std::vector<Rule>& rules);

}  // namespace gradus::optim
