#pragma once

#include <functional>
#include <string>
#include <vector>

#include "vocabulary.h"

namespace gradus::examples {

struct Example {
  std::string source, target;
};

struct Task {
  std::string name, what;  // "dates", "dates in 1,234 formats, to ISO 8601"
  Vocabulary source, target;
  std::vector<Example> training, validation, test;  // validation selects the weights
  std::string held_out;                             // such as "days that no training example has"
  std::string baseline_name;
  std::function<std::string(const std::string& source)> baseline;
};

constexpr std::int64_t kValidation = 300, kTest = 1000;

/// Returns the task "dates" or "sentences" with `count` training pairs. Throws ValueError.
Task make_task(const std::string& name, std::int64_t count, std::int64_t seed);

/// Returns the share of translations that equal their targets.
double exact(const std::vector<Example>& examples, const std::vector<std::string>& translations);

}  // namespace gradus::examples
