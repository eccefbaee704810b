#include "gradus/examples/apps/support/plot/label.h"

#include "gradus/io/text.h"

namespace gradus::plot {
namespace {

constexpr std::int64_t kLabelColumns = 14;

/// True for East Asian wide characters and emoji, by block.
bool wide(char32_t c) {
  return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
         (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) || c >= 0x1F300;
}

std::int64_t width(char32_t c) { return wide(c) ? 2 : 1; }

char32_t visible_form(char32_t c) {
  if (c == ' ') return U'␣';
  if (c == '\n') return U'↵';
  if (c == '\t') return U'⇥';
  if (c < 0x20) return 0x2400 + c;  // Unicode control pictures
  if (c == 0x7F) return U'␡';
  return c > 0x7F && c < 0xA1 ? U'·' : c;
}

}  // namespace

std::string label(const std::string& token) {
  std::string out;
  std::int64_t columns = 0;
  for (const char32_t c : io::decode_utf8(io::replace_invalid_utf8(token), "label")) {
    columns += width(c);
    if (columns >= kLabelColumns) return out + "…";
    out += io::encode_utf8(visible_form(c));
  }
  return out;
}

std::int64_t columns_of(std::string_view words) {
  std::int64_t columns = 0;
  for (const char32_t c : io::decode_utf8(io::replace_invalid_utf8(words), "label"))
    columns += width(c);
  return columns;
}

}  // namespace gradus::plot
