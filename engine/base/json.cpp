// Escapes strings. Formats numbers with to_chars, which ignores the locale.
#include "gradus/engine/base/json.h"

#include <array>
#include <charconv>
#include <cmath>

namespace gradus {
namespace {

template <class T>
void put_number(std::string& out, T value) {
  std::array<char, 32> text;
  out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
}

}  // namespace

void append_json(std::string& out, std::string_view text, JsonEscape escape) {
  constexpr std::string_view kControl = "\b\f\n\r\t", kLetter = "bfnrt";
  constexpr std::string_view kDigits = "0123456789abcdef";
  const bool html = escape == JsonEscape::for_html;
  out += '"';
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    const std::size_t letter = html ? std::string_view::npos : kControl.find(c);
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (letter != std::string_view::npos)
      out += {'\\', kLetter[letter]};
    else if (code < 0x20 || (html && (c == '<' || c == '>' || c == '&')))
      out += {'\\', 'u', '0', '0', kDigits[code >> 4U], kDigits[code & 15U]};
    else
      out += c;
  }
  out += '"';
}

void append_json(std::string& out, double value) {
  if (std::isfinite(value))
    put_number(out, value);
  else
    out += "null";
}

void append_json(std::string& out, std::int64_t value) { put_number(out, value); }

}  // namespace gradus
