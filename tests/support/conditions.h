// Checks that every registry sample must pass. Each returns "" or the problem.
#pragma once

#include <string>

#include "gradus/tests/support/registry_run.h"

namespace gradus::testing {

/// Compares two results, ignoring rounding by the order of additions. `where` starts the message.
std::string differs(const Result& a, const Result& b, const std::string& where);

/// Checks that inputs may have any strides.
std::string layouts(const Sample& sample);

/// Checks that the upstream gradient may be strided, expanded from one element, or zero.
std::string upstream(const Sample& sample);

/// Checks that two backward passes accumulate, and change neither inputs nor upstream gradient.
std::string adding_up(const Sample& sample);

std::string left_behind(const Sample& sample);

}  // namespace gradus::testing
