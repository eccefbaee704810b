// Source locations of ops.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gradus/trace/json.h"

namespace gradus::trace {

/// Call stacks of ops, resolved to files and lines when the trace is written.
class Places {
 public:
  Id here();

  /// Returns the JSON members "files", "frames", "stacks" and "sources". Calls addr2line.
  std::string json() const;

 private:
  std::map<std::vector<void*>, Id> index_;
  std::vector<std::vector<void*>> stacks_;
};

/// Returns the JSON member "opdefs": source lines of these ops.
std::map<std::string, Json> definitions(const std::set<std::string>& ops);

}  // namespace gradus::trace
