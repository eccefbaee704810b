// Why is a derivative wrong? Hypotheses, the most telling first. Each predicts the whole Jacobian A
// under test from the measured one, N; it is named only where it explains every entry, and where
// more entries agree than it has free numbers. A wrong name would cost more than none.
#pragma once

#include "gradus/check/raw/wrong_places.h"
#include "gradus/check/raw/wrong_sizes.h"

namespace gradus::check {

/// Of the input that evidence.input names; empty where nothing explains all of it.
inline Cause likely_cause(const Evidence& evidence) {
  const Comparison d(evidence);
  if (!d.finite)
    return {"NOT A NUMBER", "NaN or infinity in " + d.dx,
            "0 · ∞, 0 / 0, a value that was never written, or √ and log where they have no "
            "derivative?"};
  if (d.self.ignores_upstream)
    return {"UPSTREAM IGNORED", d.dx + " is the same for every dy, and not 0 for dy = 0",
            "multiply by dy: " + d.dx + " = dy · (the local derivative)"};
  if (!d.telling()) return {};
  for (const auto hypothesis : {constant_factor, swapped, upstream_only, transposed,
                                operand_transposed, off_by_one, permuted, gradient_leak,
                                missing_term, left_out, subset, varying_factor, local_derivative}) {
    Cause cause = hypothesis(d);
    if (!cause.name.empty()) return cause;
  }
  return {};
}

}  // namespace gradus::check
