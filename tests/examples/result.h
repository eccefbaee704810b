// What a run of an application came to: what was learned, and what was only judged.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gradus/tests/examples/applications.h"

namespace gradus::testing {

struct Result {
  std::map<std::string, std::string> training;  // all that learning made, by name
  std::vector<std::string> judged;              // lines of evaluations
  std::string weights;                          // the best ones
  std::string out;                              // the last word
};

std::vector<std::string> lines_of(const std::string& text);

/// Of `train` with these flags and --out `name`.
Result result_of(const Application& app, const Workplace& here, const std::string& flags,
                 const std::string& name);

}  // namespace gradus::testing
