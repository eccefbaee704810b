// Thread-local scopes: recording, and fused ops or their formula.
#pragma once

#include "gradus/engine/base/environment.h"
#include "gradus/engine/base/thread_state.h"

namespace gradus {

/// Turns recording on or off.
struct GradMode : ScopedValue<bool> {
  [[nodiscard]] explicit GradMode(bool on) : ScopedValue(thread_state.grad_enabled, on) {}
  static bool enabled() { return thread_state.grad_enabled; }
};
/// Turns recording off: for evaluation, sampling and optimizer steps.
struct NoGrad : GradMode {
  [[nodiscard]] NoGrad() : GradMode(false) {}
};

/// Runs fused ops as their formula. Attention is matmul, scale, mask, softmax, matmul, each a node
/// to step through. Also GRADUS_FORMULA=1.
struct FormulaScope : ScopedValue<bool> {
  [[nodiscard]] explicit FormulaScope(bool on = true) : ScopedValue(thread_state.formula, on) {}
};
/// True inside a FormulaScope, or under GRADUS_FORMULA=1 (read once).
inline bool formula_wanted() {
  static const bool always = environment::is_on(environment::Variable::formula);
  return always || thread_state.formula;
}

}  // namespace gradus
