#include "gradus/trace/json.h"

#include <cmath>

#include "gradus/engine/base/json.h"
#include "gradus/io/text.h"

namespace gradus::trace {

void put(std::string& out, Id x) {
  if (x < 0)
    out += "null";
  else
    append_json(out, x);
}

void put(std::string& out, double x) {
  if (std::isfinite(x))
    append_json(out, x);
  else
    out += std::isnan(x) ? "\"nan\"" : x < 0 ? "\"-inf\"" : "\"inf\"";
}

void put(std::string& out, std::string_view x) {
  append_json(out, io::replace_invalid_utf8(x), JsonEscape::for_html);
}

void JsonTable::end_row() {
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
