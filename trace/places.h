// Where in which code: the calls that led to each operation, told as files and lines at the end.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gradus/trace/json.h"

namespace gradus::trace {

class Places {
 public:
  Id here();  // the stack of calls that leads here

  /// "files", "frames", "stacks" and "sources", as members of a JSON object. Asks addr2line.
  std::string json() const;

 private:
  std::map<std::vector<void*>, Id> index_;
  std::vector<std::vector<void*>> stacks_;
};

/// "opdefs": the lines of the library in which each of these operations is defined.
std::map<std::string, Json> definitions(const std::set<std::string>& ops);

}  // namespace gradus::trace
