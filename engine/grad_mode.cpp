#include "gradus/engine/grad_mode.h"

#include "gradus/base/platform.h"

namespace gradus {

// equivalent: the variable is read once a process; ctest has a test of its own with it set
bool formula_wanted() {
  static const bool always = platform::is_switched_on("GRADUS_FORMULA");
  return always || thread_state.formula;
}

}  // namespace gradus
