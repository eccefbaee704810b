// Scenarios of the walk that no test of engine/ has.
#include "gradus/tests/mutation/cases.h"

namespace gradus::mutation {

Cases engine_cases() { return {}; }

}  // namespace gradus::mutation
