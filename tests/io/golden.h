// Whole texts against the files of tests/golden.
#pragma once

#include <string>

#include "gradus/tests/io/files.h"
#include "gradus/tests/support/environment.h"
#include "gradus/tests/support/golden.h"

namespace gradus::testing {

/// The message of the E that f throws; of another, the same with its kind unknown; or that none is.
template <class E = FileError, class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const std::exception& error) {
    const bool is_one = dynamic_cast<const E*>(&error) != nullptr;
    return std::string(is_one ? "" : "threw something else: ") + error.what();
  }
  return "nothing was thrown";
}

/// While one lives no program is found that is asked for by its name: calls have no lines then, and
/// nothing waits for addr2line.
struct NoPrograms : VariableScope {
  NoPrograms() : VariableScope("PATH", "") {}
};

}  // namespace gradus::testing
