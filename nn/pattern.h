// Name patterns that select parameters and layers: "encoder.*", "blocks.*.attention.*". * matches
// zero or more characters, and a comma separates alternatives.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gradus/nn/module.h"

namespace gradus::nn {

/// Returns true if the pattern matches the entire name.
bool matches(std::string_view pattern, std::string_view name);

/// Returns the parameters whose names match. If none match, throws a ValueError that lists similar
/// names.
std::vector<NamedTensor> matching(const std::vector<NamedTensor>& parameters,
                                  const std::string& pattern);

/// Freezes (or unfreezes) the matching parameters. Optimizers skip frozen ones.
void freeze(Module& model, const std::string& pattern, bool frozen = true);

}  // namespace gradus::nn
