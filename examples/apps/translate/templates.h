// A baseline that computes targets from the digits of the source by learned rules.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "task.h"

namespace gradus::examples {

class Templates {
 public:
  explicit Templates(const std::vector<Example>& examples);
  /// Returns the target for `source`, or "?" if no training example has the shape of `source`.
  std::string fill(const std::string& source) const;

 private:
  /// For each position of the target: a character (≥ 0), or −1 − n to copy position n of the
  /// source.
  std::map<std::string, std::vector<int>> rules_;  // rules by shape: "May 3, '98" → "May 9, '99"
};

}  // namespace gradus::examples
