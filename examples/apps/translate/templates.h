// What can be learnt of pairs of texts without a model: how to fill in the target from the digits
// of a source, for each source that is the same but for its digits.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "task.h"

namespace gradus::examples {

class Templates {
 public:
  explicit Templates(const std::vector<Example>& examples);
  /// "?" where no example has the source's shape.
  std::string fill(const std::string& source) const;

 private:
  /// Each place of the target is always one character (≥ 0), or copied from place −1 − n of the
  /// source: what was true of the most examples.
  std::map<std::string, std::vector<int>> rules_;  // by shape: "May 3, '98" → "May 9, '99"
};

}  // namespace gradus::examples
