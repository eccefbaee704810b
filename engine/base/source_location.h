// Replaces std::source_location, which clang 14 lacks.
#pragma once

namespace gradus {

/// A file and line. As a default argument, current() returns the caller's location.
class SourceLocation {
 public:
  SourceLocation() = default;
  static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                          int line = __builtin_LINE()) {
    return {file, line};
  }
  const char* file_name() const { return file_; }  // "" if unknown
  int line() const { return line_; }               // from 1; 0 if unknown

 private:
  constexpr SourceLocation(const char* file, int line) : file_(file), line_(line) {}
  const char* file_ = "";
  int line_ = 0;
};

}  // namespace gradus
