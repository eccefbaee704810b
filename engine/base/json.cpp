// Escapes strings, and formats numbers independently of the locale.
#include "gradus/engine/base/json.h"

#include <cmath>

#include "gradus/engine/base/number_text.h"

namespace gradus {

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
    append_shortest(out, value);
  else
    out += "null";
}

void append_json(std::string& out, std::int64_t value) { out += std::to_string(value); }

}  // namespace gradus
