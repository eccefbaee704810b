// Grades the samples of an op: injects faults into the oracle's gradients and reports those that no
// sample detects.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gradus/tests/support/oracle.h"

namespace gradus::testing {

using Group = std::vector<const Sample*>;

/// Groups samples by public function and Op: "gelu by gelu_erf". Leaves out large samples.
std::map<std::string, Group> groups_of(const Samples& samples);

/// Returns one line per undetected fault, such as "samples of `permute` cannot detect that the
/// permutation is not inverted: add one with …". The samples must outlive the process; see
/// oracle_of().
std::vector<std::string> blind_spots(const std::string& name, const Group& group);

}  // namespace gradus::testing
