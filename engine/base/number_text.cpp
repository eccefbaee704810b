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

std::optional<double> parse_double(std::string_view view) {
  const std::string text(view);
  const std::size_t digits = text.starts_with('-') ? 1 : 0;
  const bool spaced = text.find_first_of("+ \t\n\v\f\r") == 0;
  const bool hexadecimal = text.size() > digits + 1 && (text[digits + 1] | 0x20) == 'x';
  if (text.empty() || spaced || hexadecimal) return std::nullopt;
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  char* end = nullptr;
  const double value = strtod_l(text.c_str(), &end, c_locale);
  if (end != text.c_str() + text.size()) return std::nullopt;
  const bool overflows = std::isinf(value) && (text[digits] | 0x20) != 'i';
  const bool underflows = value == 0 && text.find_first_of("123456789") < text.find_first_of("eE");
  if (overflows || underflows) return std::nullopt;
  return value;
}

void append_shortest(std::string& out, double value) { out += shortest(value); }
void append_shortest(std::string& out, float value) { out += shortest(value); }

}  // namespace gradus
