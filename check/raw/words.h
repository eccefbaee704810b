// Numbers, positions and paragraphs as text.
#pragma once

#include <iomanip>
#include <locale>
#include <sstream>
#include <string>

#include "gradus/check/raw/values.h"

namespace gradus::check {

/// All arguments, one after the other.
template <class... A>
std::string joined(const A&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  (out << ... << parts);
  return out.str();
}

inline std::string list(const Shape& numbers) {
  std::string result;
  for (const std::int64_t n : numbers) result += (result.empty() ? "" : ",") + std::to_string(n);
  return "[" + result + "]";
}

inline std::string number(double value, int digits) {
  if (value != value) return "nan";  // some have a sign, which says nothing
  return joined(std::setprecision(digits), value);
}

/// "3 of 8 elements"
inline std::string share(std::int64_t part, std::int64_t all) {
  return joined(part, " of ", all, " elements");
}

/// "x[1,2]", or "x" for a single value.
inline std::string indexed(const std::string& name, const Shape& at) {
  return at.empty() ? name : name + list(at);
}

inline std::string without_trailing_blanks(std::string text) {
  return text.erase(text.find_last_not_of(' ') + 1);
}

/// Breaks at spaces (or inside a word that is longer than a line) so that no line is over 76
/// columns; what follows the first line is indented further. Counts characters of UTF-8.
inline std::string wrapped(const std::string& text, std::size_t indent) {
  constexpr std::size_t columns = 76;
  std::string result(indent, ' ');
  std::size_t column = indent, last_space = std::string::npos;
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20U) c = ' ';
    const bool continues = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
    if (!continues && column == columns) {
      const bool at_space = last_space != std::string::npos || c == ' ';
      std::string rest;
      if (c != ' ' && at_space) {
        rest = result.substr(last_space + 1);
        result.resize(last_space);
      }
      result = without_trailing_blanks(result) + "\n" + std::string(indent + 2, ' ') + rest;
      column = indent + 2;
      for (char r : rest) column += (static_cast<unsigned char>(r) & 0xC0U) != 0x80U ? 1U : 0U;
      last_space = std::string::npos;
      if (c == ' ') continue;
    }
    if (c == ' ' && column > indent) last_space = result.size();
    result += c;
    if (!continues) ++column;
  }
  return without_trailing_blanks(result) + "\n";
}

}  // namespace gradus::check
