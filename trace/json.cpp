#include "gradus/trace/json.h"

#include <array>
#include <charconv>
#include <cmath>

#include "gradus/io/text.h"

namespace gradus::trace {
namespace {

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
    out += std::isnan(x) ? "\"nan\"" : std::signbit(x) ? "\"-inf\"" : "\"inf\"";
}

void put(std::string& out, std::string_view x) {
  constexpr const char* kDigits = "0123456789abcdef";
  out += '"';
  for (const char c : io::replace_invalid_utf8(x)) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if ((0 <= c && c < 0x20) || c == '<' || c == '>' || c == '&')
      out += {'\\', 'u', '0', '0', kDigits[c >> 4], kDigits[c & 15]};
    else
      out += c;
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
