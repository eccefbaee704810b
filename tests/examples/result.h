#pragma once

#include <map>
#include <string>
#include <vector>

#include "gradus/tests/examples/applications.h"

namespace gradus::testing {

struct Result {
  std::map<std::string, std::string> training;  // metrics by name
  std::vector<std::string> judged;              // a line per evaluation
  std::string weights;                          // best weights
  std::string out;                              // printed summary
};

std::vector<std::string> lines_of(const std::string& text);

Result result_of(const Application& app, const Workplace& here, const std::string& flags,
                 const std::string& name);

}  // namespace gradus::testing
