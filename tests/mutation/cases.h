// Cases that may detect mutants. A case is a test, or a sample under one condition.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace gradus::mutation {

struct Case {
  std::string name;
  std::function<std::string()> run;  // returns "" or the failure; may throw
  std::string file = {};             // file of a test, such as tests/engine/test_shape.cpp
};
using Cases = std::vector<Case>;

struct CaseSource {
  explicit CaseSource(Cases (*make)());
};

/// True if memory outside the elements of any tensor was written.
bool memory_was_overrun();

}  // namespace gradus::mutation
