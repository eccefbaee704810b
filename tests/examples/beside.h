// What the last word of an application says beside its model: of those that know less, which learn
// what training may see and are judged by the test part.
#pragma once

#include <string>

#include "gradus/tests/examples/applications.h"

namespace gradus::testing {

/// Lines of the last word, each blank as one.
std::string beside_vision(const Workplace& here);
std::string beside_listen(const Workplace& here);
std::string beside_recommend(const Workplace& here);
std::string beside_classify(const Workplace& here);

}  // namespace gradus::testing
