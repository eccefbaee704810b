#include "gradus/trace/json.h"

#include <array>
#include <charconv>
#include <cmath>

namespace gradus::trace {
namespace {

/// Bytes of the UTF-8 character that x begins with; 0: it begins with none.
std::size_t character(std::string_view x) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(x[i]); };
  const unsigned first = at(0);
  const std::size_t n = first < 0x80                    ? 1
                        : first >= 0xC2 && first < 0xE0 ? 2
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (n == 0 || n > x.size()) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((at(i) & 0xC0) != 0x80) return 0;
  const bool overlong = (first == 0xE0 && at(1) < 0xA0) || (first == 0xF0 && at(1) < 0x90);
  const bool outside = (first == 0xED && at(1) > 0x9F) || (first == 0xF4 && at(1) > 0x8F);
  return overlong || outside ? 0 : n;
}

template <class T>
void put_number(std::string& out, T x) {
  std::array<char, 32> text;
  out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), x).ptr);
}

}  // namespace

void put(std::string& out, Id x) {
  if (x < 0)
    out += "null";
  else
    put_number(out, x);
}

void put(std::string& out, double x) {
  if (std::isfinite(x))
    put_number(out, x);
  else
    out += std::isnan(x) ? "\"nan\"" : x > 0 ? "\"inf\"" : "\"-inf\"";
}

void put(std::string& out, std::string_view x) {
  constexpr const char* kDigits = "0123456789abcdef";
  out += '"';
  while (!x.empty()) {
    const std::size_t n = character(x);
    const char c = x[0];
    if (n == 0)
      out += "\xEF\xBF\xBD";
    else if (n > 1)
      out += x.substr(0, n);
    else if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || c == '<' || c == '>' || c == '&')
      out += {'\\', 'u', '0', '0', kDigits[c >> 4], kDigits[c & 15]};
    else
      out += c;
    x.remove_prefix(n == 0 ? 1 : n);
  }
  out += '"';
}

void Table::end_row() {
  rows_.pop_back();
  while (rows_.ends_with(",null")) rows_.resize(rows_.size() - 5);
  rows_ += ']';
}

std::string base64(std::string_view bytes) {
  constexpr const char* kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned word = 0;
    for (std::size_t k = 0; k < 3; ++k)
      word = word << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k)
      out += i + k <= bytes.size() ? kAlphabet[word >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace gradus::trace
