#include "gradus/engine/grad_mode.h"

#include "gradus/base/platform.h"

namespace gradus {

bool formula_wanted() {
  static const bool always = platform::is_switched_on("GRADUS_FORMULA");
  // equivalent: of what is read once; a test has a process of its own where it is set
  return always || thread_state.formula;
}

}  // namespace gradus
