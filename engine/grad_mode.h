#pragma once

#include "gradus/engine/base/environment.h"
#include "gradus/engine/base/thread_state.h"

namespace gradus {

/// RAII guard that turns recording on or off.
struct GradMode : ScopedValue<bool> {
  [[nodiscard]] explicit GradMode(bool on) : ScopedValue(thread_state.grad_enabled, on) {}
  static bool enabled() { return thread_state.grad_enabled; }
};
/// RAII guard that turns recording off, for evaluation, sampling and optimizer steps.
struct NoGrad : GradMode {
  [[nodiscard]] NoGrad() : GradMode(false) {}
};

/// RAII guard under which fused ops run as their formula: attention runs as matmul, scale, mask,
/// softmax, matmul, each a node that you can step through. GRADUS_FORMULA=1 has the same effect.
struct FormulaScope : ScopedValue<bool> {
  [[nodiscard]] explicit FormulaScope(bool on = true) : ScopedValue(thread_state.formula, on) {}
};
/// True inside a FormulaScope, or with GRADUS_FORMULA=1 (read once).
inline bool formula_wanted() {
  static const bool always = environment::is_on(environment::Variable::formula);
  return always || thread_state.formula;
}

}  // namespace gradus
