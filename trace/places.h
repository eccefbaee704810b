// Source locations of ops.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gradus/trace/json.h"

namespace gradus::trace {

/// Call stacks of ops, resolved to files and lines when written.
class Places {
 public:
  Id here();

  /// JSON members "files", "frames", "stacks", "sources". Calls addr2line.
  std::string json() const;

 private:
  std::map<std::vector<void*>, Id> index_;
  std::vector<std::vector<void*>> stacks_;
};

/// "opdefs": source lines of these ops.
std::map<std::string, Json> definitions(const std::set<std::string>& ops);

}  // namespace gradus::trace
