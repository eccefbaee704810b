// Records the call stack of each op, and resolves it to files and lines at the end.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gradus/trace/json.h"

namespace gradus::trace {

class Places {
 public:
  Id here();  // the current call stack

  /// The members "files", "frames", "stacks" and "sources" of a JSON object. Calls addr2line.
  std::string json() const;

 private:
  std::map<std::vector<void*>, Id> index_;
  std::vector<std::vector<void*>> stacks_;
};

/// "opdefs": the source lines that define each of these ops.
std::map<std::string, Json> definitions(const std::set<std::string>& ops);

}  // namespace gradus::trace
