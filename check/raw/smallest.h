// The smallest sizes at which a check still fails: the case to step through in a debugger.
#pragma once

#include "gradus/check/raw/report.h"

namespace gradus::check {

/// Makes each of `sizes` smaller as long as make(sizes) fails; `report` is that of the sizes given,
/// and becomes that of the sizes returned.
template <class Make>
Dims find_smallest(Dims sizes, Report& report, Make make) {
  for (std::size_t axis = 0; axis < sizes.size();) {
    const std::int64_t before = sizes[axis];
    Dims smaller = sizes;
    for (std::int64_t n = 1; n < before && sizes[axis] == before; n = n < 3 ? n + 1 : 2 * n) {
      smaller[axis] = n;
      Report tried = make(smaller);
      if (tried.verdict != Verdict::fail || tried.findings.empty()) continue;
      sizes = smaller;
      report = std::move(tried);
    }
    axis = sizes[axis] == before ? axis + 1 : 0;  // a smaller axis may let an earlier one shrink
  }
  return sizes;
}

/// make(sizes) is the check for inputs of these sizes, and gives its report. If it fails at `sizes`
/// each is made smaller as long as the check fails; the report of `sizes` says where that ended.
///
///   check::smallest({2, 3, 5}, [](const check::Dims& n) {
///     return check::raw("softmax", softmax, softmax_vjp, random_values(n));
///   });
template <class Make>
Report smallest(const Dims& sizes, Make make) {
  Report report = make(sizes), least = report;
  if (report.verdict != Verdict::fail) return report;
  report.smallest = list(find_smallest(sizes, least, make));
  if (!least.findings.empty()) report.smallest += ": " + in_one_line(least.findings[0]);
  return report;
}

}  // namespace gradus::check
