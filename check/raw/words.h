// Formats values, indices and paragraphs as text.
#pragma once

#include <new>
#include <sstream>
#include <string>
#include <type_traits>

#include "gradus/check/raw/values.h"
#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace gradus::check {

inline std::string number(double value, int digits) {
  if (value != value) return "nan";  // ignore the sign of a NaN
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(digits);
  if (!(text << value)) throw std::bad_alloc();  // without memory, streams only set a flag
  return text.str();
}

template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_floating_point_v<T>)
    return number(static_cast<double>(value), 6);
  else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, char>)
    return std::to_string(value);
  else
    return std::string() + value;
}

template <class... A>
std::string joined(const A&... parts) {
  return (std::string() + ... + text_of(parts));
}

inline std::string list(const Dims& numbers) {
  std::string result;
  for (const std::int64_t n : numbers) result += (result.empty() ? "" : ",") + std::to_string(n);
  return "[" + result + "]";
}

inline std::string share(std::int64_t part, std::int64_t all) {
  return joined(part, " of ", all, " elements");
}

inline std::string indexed(const std::string& name, const Dims& at) {
  return at.empty() ? name : name + list(at);
}

inline std::string without_trailing_blanks(std::string text) {
  return text.erase(text.find_last_not_of(' ') + 1);
}

/// Breaks lines at 76 columns (UTF-8 characters), at spaces if possible. Indents continuation
/// lines.
inline std::string wrapped(const std::string& text, std::size_t indent) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  std::string result, line(indent, ' ');
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20U) c = ' ';
    if (begins(c) && std::count_if(line.begin(), line.end(), begins) == 76) {
      const std::size_t space = line.rfind(' ');
      // A break at an earlier space would leave a nearly empty line.
      const bool breaks = c != ' ' && space != std::string::npos && space > indent + 1;
      result += without_trailing_blanks(line.substr(0, breaks ? space : line.size())) + "\n";
      line = std::string(indent + 2, ' ') + (breaks ? line.substr(space + 1) : "");
      if (c == ' ') continue;
    }
    line += c;
  }
  return result + without_trailing_blanks(line) + "\n";
}

/// False on systems without unistd.h.
inline bool is_terminal([[maybe_unused]] int stream) {
#if __has_include(<unistd.h>)
  return isatty(stream) == 1;
#else
  return false;
#endif
}

}  // namespace gradus::check
