#include "gradus/engine/grad_mode.h"

#include "gradus/base/platform.h"

namespace gradus {

bool formula_wanted() {
  static const bool always = platform::is_switched_on("GRADUS_FORMULA");
  // equivalent: within a process; ctest has a test of its own with the variable set
  return always || thread_state.formula;
}

}  // namespace gradus
