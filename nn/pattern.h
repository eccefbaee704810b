// Name patterns, which select parameters and layers: "encoder.*", "*.bias", "blocks.*.attention.*".
// * stands for any characters or none, and a comma separates alternatives.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gradus/nn/module.h"

namespace gradus::nn {

/// Returns whether the pattern matches the entire name.
bool matches(std::string_view pattern, std::string_view name);

/// The parameters whose names match, in their order. ValueError if there are none; the message
/// lists the nearest names.
std::vector<NamedTensor> matching(const std::vector<NamedTensor>& parameters,
                                  const std::string& pattern);

/// The matching parameters no longer require gradients (or, with frozen = false, do again), so that
/// optimizers do not change them.
void freeze(Module& model, const std::string& pattern, bool frozen = true);

}  // namespace gradus::nn
