// Scopes that say how operations run on this thread: recorded or not, fused or as their formula.
#pragma once

#include "gradus/engine/base/environment.h"
#include "gradus/engine/base/thread_state.h"

namespace gradus {

/// Whether operations are recorded on this thread, and scopes that say so.
struct GradMode : ScopedValue<bool> {
  [[nodiscard]] explicit GradMode(bool on) : ScopedValue(thread_state.grad_enabled, on) {}
  static bool enabled() { return thread_state.grad_enabled; }
};
/// Nothing is recorded while one of these lives: evaluation, sampling, optimiser steps.
struct NoGrad : GradMode {
  [[nodiscard]] NoGrad() : GradMode(false) {}
};

/// While one of these lives, fused operations run as the formula they stand for: attention is
/// matmul, scale, mask, softmax, matmul, each a node to step through. Also GRADUS_FORMULA=1.
struct FormulaScope : ScopedValue<bool> {
  [[nodiscard]] explicit FormulaScope(bool on = true) : ScopedValue(thread_state.formula, on) {}
};
/// By a scope, or by the environment, which is read once in a process.
inline bool formula_wanted() {
  static const bool always = environment::is_on(environment::Variable::formula);
  return always || thread_state.formula;
}

}  // namespace gradus
