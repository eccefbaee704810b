// Properties that every registry sample must have. Each check returns "" or the problem.
#pragma once

#include <string>

#include "gradus/tests/support/registry_run.h"

namespace gradus::testing {

std::string differs(const Result& a, const Result& b, const std::string& where);

/// Checks that inputs may have any strides.
std::string layouts(const Sample& sample);

/// Checks that the upstream gradient may be strided, expanded from one element, or zero.
std::string upstream(const Sample& sample);

/// Checks that gradients of two backward passes accumulate without changing the inputs or the
/// upstream gradient.
std::string adding_up(const Sample& sample);

std::string left_behind(const Sample& sample);

}  // namespace gradus::testing
