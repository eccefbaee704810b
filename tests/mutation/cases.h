// A case is one test, or one sample under one condition.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace gradus::mutation {

struct Case {
  std::string name;
  std::function<std::string()> run;  // "" or the failure; may throw
  std::string file = {};             // of a test: tests/engine/test_shape.cpp
};
using Cases = std::vector<Case>;

struct CaseSource {
  explicit CaseSource(Cases (*make)());
};

/// True if memory outside of a tensor's elements was written.
bool memory_was_overrun();

}  // namespace gradus::mutation
