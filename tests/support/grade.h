// Samples are graded: a wrong gradient that none of an operation's samples can see is a sample too
// few. The gradients that the oracle knows are falsified, one fault after the other, and compared
// as those of the operation are.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gradus/tests/support/oracle.h"

namespace gradus::testing {

using Group = std::vector<const Sample*>;

/// The samples by public function, and within one by the Op that they reach: "gelu by gelu_erf".
/// Large ones see all that small ones see, and faults of size; they are not graded.
std::map<std::string, Group> groups_of(const Samples& samples);

/// What `group` cannot see, a line each: "samples of `permute` cannot see that the permutation is
/// not inverted: add one with …". Samples that outlive the process only: see oracle_of().
std::vector<std::string> blind_spots(const std::string& name, const Group& group);

}  // namespace gradus::testing
