// Grades backward passes with the gradient checker.
#pragma once

#include <string>
#include <vector>

#include "gradus/check/gradients.h"

namespace gradus::exercises {

struct Exercise {
  std::string name;
  check::Function forward;
  check::Vjp backward;
  check::Tensors inputs;  // where it is checked
  check::Options options = {};
};

enum class State { done, not_done_yet, wrong };

struct Grade {
  State state;
  std::string why;  // where wrong: the checker's report, or what backward threw
};

/// All ten, in their order.
std::vector<Exercise> exercises();

Grade grade(const Exercise& exercise);

struct Result {
  std::size_t graded, done;
  std::string text;  // a line each, why the first wrong one is wrong, how many are done and wrong
};
/// All, or the one whose name or number `only` is.
Result grade_all(const std::vector<Exercise>& all, const std::string& only = "");

}  // namespace gradus::exercises
