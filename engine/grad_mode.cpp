#include "gradus/engine/grad_mode.h"

#include "gradus/engine/base/environment.h"

namespace gradus {

// The variable is read once in a process.
bool formula_wanted() {
  static const bool always = environment::is_on(environment::Variable::formula);
  return always || thread_state.formula;
}

}  // namespace gradus
