// Pages of text that are compared with the files of tests/golden/check/: tables, reports, calls.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "gradus/tests/support/golden.h"

namespace gradus::golden {

/// A number with so many digits, and no -0: what compilers round otherwise must not show.
inline std::string shown(double value, int digits = 6) {
  if (std::isnan(value)) return "nan";
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value == 0 ? 0.0 : value);
  return text;
}

inline std::string word(double value) { return shown(value); }
inline std::string word(bool value) { return value ? "yes" : "no"; }
inline std::string word(const char* text) { return text; }
inline std::string word(const std::string& text) { return text; }
template <class T>
requires std::is_integral_v<T> std::string word(T value) { return std::to_string(value); }
template <class T>
std::string word(const std::vector<T>& all) {
  std::string result;
  for (const auto& one : all) result += (result.empty() ? "" : " ") + word(T(one));
  return "[" + result + "]";
}

/// Lines of text, one after the other.
class Page {
 public:
  template <class... A>
  void line(const A&... parts) {
    std::string text;
    ((text += (text.empty() ? "" : " ") + word(parts)), ...);
    text_ += text + "\n";
  }
  const std::string& text() const { return text_; }
  /// A text in full with its number, and after the first time its number alone.
  std::string once(const std::string& text) {
    const auto at = std::find(known_.begin(), known_.end(), text);
    const std::string number = "#" + std::to_string(at - known_.begin());
    if (at != known_.end()) return number;
    known_.push_back(text);
    return number + " " + text;
  }

  /// It must be that of tests/golden/check/`name`, whatever numbers its nodes have.
  void compare(const std::string& name) const {
    testing::check_golden("check/" + name, testing::renumbered(text_, {"node "}));
  }

 private:
  std::string text_;
  std::vector<std::string> known_;
};

}  // namespace gradus::golden
