// Diagnoses why a derivative is wrong. Each hypothesis predicts the Jacobian under test (A) from
// the measured one (N). The first hypothesis that explains every entry, with fewer free parameters
// than entries, is reported.
#pragma once

#include "gradus/check/raw/wrong_places.h"
#include "gradus/check/raw/wrong_sizes.h"

namespace gradus::check {

inline Cause likely_cause(const Evidence& evidence) {
  const Comparison d(evidence);
  if (!d.finite)
    return {"NOT A NUMBER", "NaN or infinity in " + d.dx,
            "look for 0 · ∞, 0 / 0, uninitialized values, or √ and log at 0"};
  if (d.self.ignores_upstream)
    return {"UPSTREAM IGNORED", d.dx + " is the same for every dy and not 0 for dy = 0",
            "multiply by dy: " + d.dx + " = dy · (the local derivative)"};
  if (!d.telling()) return {};
  for (const auto hypothesis :
       {constant_factor, swapped, upstream_only, confused<axis_orders>, column_major,
        operand_transposed, confused<reversal>, confused<shifts>, permuted, gradient_leak,
        missing_term, left_out, subset, varying_factor, local_derivative})
    if (Cause cause = hypothesis(d); !cause.name.empty()) return cause;
  return {};
}

inline std::string jacobian_map(const Evidence& evidence) {
  const Comparison d(evidence);
  std::string map;
  for (std::size_t i = 0; i < d.a.rows; ++i)
    for (std::size_t j = 0; j < d.a.columns; ++j)
      map += std::isfinite(d.a(i, j)) && !d.wrong(i, j) ? '.' : map_character(d.a(i, j), d.n(i, j));
  return map;
}

/// Finds outputs whose dy no gradient uses. Reports them only if this explains the errors of all
/// inputs.
inline Cause unread_upstream(Evidence evidence) {
  const std::size_t rows = evidence.inputs.front().numeric.rows;
  std::vector<bool> dead(rows, true), wanted(rows, false);
  for (std::size_t k = 0; k < evidence.inputs.size(); ++k) {
    evidence.input = k;
    const Comparison d(evidence);
    if (!d.finite || !d.telling()) return {};
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < d.a.columns; ++j) {
        dead[i] = dead[i] && d.a(i, j) == 0;
        wanted[i] = wanted[i] || std::abs(d.n(i, j)) > d.fuzz;
      }
  }
  for (std::size_t i = 0; i < rows; ++i) dead[i] = dead[i] && wanted[i];
  const auto unread = std::count(dead.begin(), dead.end(), true);
  if (unread == 0 || unread == std::ssize(dead)) return {};
  for (std::size_t k = 0; k < evidence.inputs.size(); ++k) {
    evidence.input = k;
    const Comparison d(evidence);
    if (!d.explains([&](auto i, auto j) { return dead[i] ? 0.0 : d.n(i, j); })) return {};
  }
  const std::string where = location(dead, evidence.output_shape, {});
  const auto first =
      static_cast<std::size_t>(std::find(dead.begin(), dead.end(), true) - dead.begin());
  return {"UPSTREAM UNREAD",
          joined("dy ",
                 where.empty() ? joined("of ", unread, " outputs, the first of them out",
                                        list(index_of(first, evidence.output_shape)), ",")
                               : where,
                 " is never read"),
          "each output's dy must reach every input that the output depends on"};
}

inline void explain(Report& report, Evidence evidence) {
  const auto several = std::count_if(report.inputs.begin(), report.inputs.end(),
                                     [](const InputSummary& input) { return input.wrong > 0; });
  const Cause unread = several > 1 ? unread_upstream(evidence) : Cause();
  for (std::size_t k = 0; k < report.inputs.size(); ++k) {
    InputSummary& input = report.inputs[k];
    if (input.wrong == 0 || !input.cause.name.empty()) continue;
    evidence.input = k;
    input.cause = unread.name.empty() ? likely_cause(evidence) : unread;
    if (!evidence.jacobian) continue;
    input.map = jacobian_map(evidence);
    input.map_rows = static_cast<std::int64_t>(evidence.inputs[k].numeric.rows);
  }
}

}  // namespace gradus::check
