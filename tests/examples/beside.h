// Computes the expected summary lines of the simple baselines.
#pragma once

#include <string>

#include "gradus/tests/examples/applications.h"

namespace gradus::testing {

/// In the returned lines, whitespace is collapsed.
std::string beside_vision(const Workplace& here);
std::string beside_listen(const Workplace& here);
std::string beside_recommend(const Workplace& here);
std::string beside_classify(const Workplace& here);

}  // namespace gradus::testing
