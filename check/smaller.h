// Smaller inputs at which a check fails too.
#pragma once

#include <functional>

#include "gradus/check/subject.h"

namespace gradus::check {

/// Puts into report.smallest the shapes of the smallest inputs, cut out of the subject's, for which
/// `check` still fails, and what it says there.
void find_smallest(const Subject& subject, Report& report,
                   const std::function<Report(const Subject&)>& check);

}  // namespace gradus::check
