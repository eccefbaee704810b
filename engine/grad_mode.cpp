#include "gradus/engine/grad_mode.h"

#include "gradus/engine/base/platform.h"

namespace gradus {

// The variable is read once in a process.
bool formula_wanted() {
  static const bool always = platform::is_switched_on("GRADUS_FORMULA");
  return always || thread_state.formula;
}

}  // namespace gradus
