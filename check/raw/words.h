// Numbers, places and paragraphs as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <locale>
#include <sstream>
#include <string>
#include <vector>

namespace gradus::check::core {

inline std::string list(const std::vector<std::int64_t>& numbers) {
  std::string result = "[";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    result += (i == 0 ? "" : ",") + std::to_string(numbers[i]);
  }
  return result + "]";
}

inline std::string number(double value, int digits) {
  if (value != value) return "nan";  // some have a sign, which says nothing
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.precision(digits);
  out << value;
  return out.str();
}

/// "3 of 8 elements"
inline std::string share(std::int64_t part, std::int64_t all) {
  return std::to_string(part) + " of " + std::to_string(all) + " elements";
}

inline std::int64_t count_of(const std::vector<std::int64_t>& shape) {
  std::int64_t result = 1;
  for (std::int64_t n : shape) result *= n;
  return result;
}

/// Row-major: element 7 of [2,5] is [1,2].
inline std::vector<std::int64_t> place(std::int64_t element,
                                       const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> result(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    result[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return result;
}

/// The other way: [1,2] of [2,5] is element 7.
inline std::int64_t element_at(const std::vector<std::int64_t>& place,
                               const std::vector<std::int64_t>& shape) {
  std::int64_t result = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    result = result * shape[axis] + place[axis];
  }
  return result;
}

inline std::string without_blanks_behind(std::string text) {
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
      result = without_blanks_behind(result) + "\n" + std::string(indent + 2, ' ') + rest;
      column = indent + 2;
      for (char r : rest) column += (static_cast<unsigned char>(r) & 0xC0U) != 0x80U ? 1U : 0U;
      last_space = std::string::npos;
      if (c == ' ') continue;
    }
    if (c == ' ' && column > indent) last_space = result.size();
    result += c;
    if (!continues) ++column;
  }
  return without_blanks_behind(result) + "\n";
}

}  // namespace gradus::check::core
