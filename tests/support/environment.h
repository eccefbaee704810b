#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace gradus::testing {

class VariableScope {
 public:
  VariableScope(const char* name, std::optional<std::string> value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~VariableScope() { set(before_); }
  VariableScope(const VariableScope&) = delete;
  VariableScope& operator=(const VariableScope&) = delete;

 private:
  void set(const std::optional<std::string>& value) const {
    value ? ::setenv(name_, value->c_str(), 1) : ::unsetenv(name_);
  }

  const char* name_;
  std::optional<std::string> before_;
};

/// Empties PATH, which skips the slow addr2line in call stacks.
struct NoPrograms : VariableScope {
  NoPrograms() : VariableScope("PATH", "") {}
};

}  // namespace gradus::testing
