#include "gradus/engine/grad_mode.h"

#include <cstdlib>

namespace gradus {

bool formula_wanted() {
  static const bool always = [] {
    const char* value = std::getenv("GRADUS_FORMULA");
    return value && *value && *value != '0';
  }();
  return always || thread_state.formula;
}

}  // namespace gradus
