// Conditions that every sample of the registry must meet, beside those of the oracle and of
// differences. Each gives "" or what is wrong.
#pragma once

#include <string>

#include "gradus/tests/support/registry_run.h"

namespace gradus::testing {

/// Values and gradients are equal, but for the order of additions; `where` begins the answer.
std::string differs(const Result& a, const Result& b, const std::string& where);

/// Inputs may have any strides.
std::string layouts(const Sample& sample);

/// Upstream gradients may have any strides, be expanded from one number, or be zero.
std::string upstream(const Sample& sample);

/// Two backward passes into the same leaves; inputs and upstream gradient stay as they are.
std::string adding_up(const Sample& sample);

/// No memory is held when all is over.
std::string left_behind(const Sample& sample);

}  // namespace gradus::testing
