// What mutants must fail: one case is one sample of the registry under one condition, or one test.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace gradus::mutation {

struct Case {
  std::string name;
  std::function<std::string()> run;  // "" or what was wrong; may throw
  bool apart = false;                // runs in a process of its own even without a mutant
  std::string file = {};             // of a test: tests/engine/test_shape.cpp
};
using Cases = std::vector<Case>;

/// Where a file's cases come from; one of these in each file that has some.
struct CaseSource {
  explicit CaseSource(Cases (*make)());
};

/// Did somebody write outside of a tensor's numbers since the start?
bool memory_was_overrun();

}  // namespace gradus::mutation
