// Scopes that say how operations run on this thread: recorded or not, fused or as their formula.
#pragma once

#include "gradus/base/thread_state.h"

namespace gradus {

/// Whether operations are recorded on this thread, and scopes that say so.
struct GradMode {
  static bool enabled() { return thread_state.grad_enabled; }
  [[nodiscard]] explicit GradMode(bool enabled) : before_(thread_state.grad_enabled) {
    thread_state.grad_enabled = enabled;
  }
  ~GradMode() { thread_state.grad_enabled = before_; }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool before_;
};
/// Nothing is recorded while one of these lives: evaluation, sampling, optimiser steps.
struct NoGrad : GradMode {
  [[nodiscard]] NoGrad() : GradMode(false) {}
};

/// While one of these lives, fused operations run as the formula they stand for: attention is
/// matmul, scale, mask, softmax, matmul, each a node to step through. Also GRADUS_FORMULA=1.
struct FormulaScope {
  [[nodiscard]] explicit FormulaScope(bool on = true) : before_(thread_state.formula) {
    thread_state.formula = on;
  }
  ~FormulaScope() { thread_state.formula = before_; }
  FormulaScope(const FormulaScope&) = delete;
  FormulaScope& operator=(const FormulaScope&) = delete;

 private:
  bool before_;
};
bool formula_wanted();  // by a scope or by the environment

}  // namespace gradus
