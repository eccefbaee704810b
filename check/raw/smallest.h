// Finds the smallest sizes at which a check fails.
#pragma once

#include "gradus/check/raw/findings.h"
#include "gradus/check/raw/words.h"

namespace gradus::check {

/// Shrinks `sizes` as long as the check make(sizes) fails. Sets `report` to the report of the
/// returned sizes.
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
    axis = sizes[axis] == before ? axis + 1 : 0;  // retries the earlier axes
  }
  return sizes;
}

/// Runs the check make(sizes). If it fails, shrinks the sizes as long as the check fails.
///
///   check::smallest({2, 3, 5}, [](const check::Dims& n) {
///     return check::raw("softmax", softmax, softmax_vjp, random_values(n));
///   });
template <class Make>
Report smallest(const Dims& sizes, Make make) {
  Report report = make(sizes), least = report;
  if (report.verdict != Verdict::fail) return report;
  report.smallest = list(find_smallest(sizes, least, make));
  if (!least.findings.empty()) report.smallest += ": " + least.headline();
  return report;
}

}  // namespace gradus::check
