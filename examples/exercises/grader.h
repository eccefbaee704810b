#pragma once

#include <string>
#include <vector>

#include "gradus/check/gradients.h"

namespace gradus::exercises {

struct Exercise {
  std::string name;
  check::Function forward;
  check::Vjp backward;
  check::Tensors inputs;
  check::Options options = {};
};

enum class State { done, not_done_yet, wrong };

struct Grade {
  State state;
  std::string why;  // if wrong: report or exception
};

std::vector<Exercise> exercises();

Grade grade(const Exercise& exercise);

struct Result {
  std::size_t graded, done;
  std::string text;  // a line per exercise, the first failure, and a summary
};
/// Grades all exercises, or `only` one by its name or number.
Result grade_all(const std::vector<Exercise>& all, const std::string& only = "");

}  // namespace gradus::exercises
