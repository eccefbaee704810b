#include "gradus/engine/base/number_text.h"

#include <locale.h>  // NOLINT(modernize-deprecated-headers): strtod_l is POSIX

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iomanip>

#include "gradus/engine/base/error.h"

namespace gradus {
namespace {

/// Does what std::from_chars does, with strtod in the C locale.
[[maybe_unused]] std::from_chars_result read_with_strtod(const char* first, const char* last,
                                                         double& value) {
  const std::string text(first, last);
  const std::size_t digits = text.starts_with('-') ? 1 : 0;
  const bool spaced = text.find_first_of("+ \t\n\v\f\r") == 0;
  const bool hexadecimal = text.size() > digits + 1 && (text[digits + 1] | 0x20) == 'x';
  if (text.empty() || spaced || hexadecimal) return {first, std::errc::invalid_argument};
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  char* end = nullptr;
  const double found = strtod_l(text.c_str(), &end, c_locale);
  if (end == text.c_str()) return {first, std::errc::invalid_argument};
  const char* stop = first + (end - text.c_str());
  const bool infinite = std::isinf(found) && (text[digits] | 0x20) != 'i';
  const bool vanished = found == 0 && text.find_first_of("123456789") < text.find_first_of("eE");
  if (infinite || vanished) return {stop, std::errc::result_out_of_range};
  value = found;
  return {stop, std::errc()};
}

template <class T>
std::from_chars_result read(const char* first, const char* last, T& value) {
  if constexpr (requires { std::from_chars(first, last, value); })
    return std::from_chars(first, last, value);
  else
    return read_with_strtod(first, last, value);
}

template <class T>
std::string shortest(T value) {
  std::array<char, 32> text{};
  if constexpr (requires { std::to_chars(text.data(), text.data(), value); }) {
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
  } else {
    std::string found;
    for (int digits = 1; digits <= 17; ++digits) {
      found = str_cat(std::setprecision(digits), value);
      if (static_cast<T>(parse_double(found).value_or(value)) == value) break;
    }
    return found;
  }
}

}  // namespace

std::optional<double> parse_double(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = read(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

void append_shortest(std::string& out, double value) { out += shortest(value); }
void append_shortest(std::string& out, float value) { out += shortest(value); }

}  // namespace gradus
