// The smallest sizes at which a check still fails: what one wants to step through.
#pragma once

#include "gradus/check/raw/report.h"

namespace gradus::check {

/// make(sizes) is the check for inputs of these sizes, and gives its report. If it fails at `sizes`
/// each is made smaller as long as the check fails; the report of `sizes` says where that ended.
///
///   check::smallest({2, 3, 5}, [](const check::Shape& n) {
///     return check::raw("softmax", softmax, softmax_vjp, random_values(n));
///   });
template <class Make>
core::Report smallest(const core::Shape& sizes, Make make) {
  core::Report report = make(sizes), least = report;
  if (report.verdict != core::Verdict::fail) return report;
  core::Shape best = sizes;
  for (std::size_t axis = 0; axis < best.size();) {
    const std::int64_t before = best[axis];
    core::Shape smaller = best;
    for (std::int64_t n = 1; n < before && best[axis] == before; n = n < 3 ? n + 1 : 2 * n) {
      smaller[axis] = n;
      const core::Report tried = make(smaller);
      if (tried.verdict != core::Verdict::fail || tried.findings.empty()) continue;
      best = smaller;
      least = tried;
    }
    axis = best[axis] == before ? axis + 1 : 0;  // a smaller axis may let an earlier one shrink
  }
  report.smallest = core::list(best);
  if (!least.findings.empty()) report.smallest += ": " + core::in_one_line(least.findings[0]);
  return report;
}

}  // namespace gradus::check
