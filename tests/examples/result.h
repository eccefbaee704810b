// The results of a training run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gradus/tests/examples/applications.h"

namespace gradus::testing {

struct Result {
  std::map<std::string, std::string> training;  // everything that training produced, by name
  std::vector<std::string> judged;              // the evaluations, as lines
  std::string weights;                          // the best ones
  std::string out;                              // the printed summary
};

std::vector<std::string> lines_of(const std::string& text);

/// Runs `train` with these flags and --out `name`.
Result result_of(const Application& app, const Workplace& here, const std::string& flags,
                 const std::string& name);

}  // namespace gradus::testing
