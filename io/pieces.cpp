#include "gradus/io/pieces.h"

#include <algorithm>
#include <array>

#include "gradus/engine/base/error.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

constexpr std::size_t kLongest = 128;  // bytes; limits the time for text without spaces

enum class Kind { space, letter, digit, other };

Kind byte_kind(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte == ' ' || (byte >= '\t' && byte <= '\r')) return Kind::space;
  if (byte >= 0x80 || (byte | 0x20u) - 'a' < 26u) return Kind::letter;
  return byte >= '0' && byte <= '9' ? Kind::digit : Kind::other;
}

/// Returns the length of a contraction at the beginning ('s 't 'm 'd 're 've 'll), or 0.
std::size_t contraction(std::string_view text) {
  for (const std::string_view each : {"'s", "'t", "'m", "'d", "'re", "'ve", "'ll"})
    if (text.starts_with(each)) return each.size();
  return 0;
}

/// Returns the length of the first piece of a non-empty text.
std::size_t first_piece(std::string_view text) {
  if (const std::size_t length = contraction(text)) return length;
  const auto run = [&](std::size_t from) {  // end of a run of one type, or beyond kLongest
    std::size_t end = from;
    const std::size_t most = std::min(text.size(), from + kLongest + 2);
    while (end < most && byte_kind(text[end]) == byte_kind(text[from])) ++end;
    return end;
  };
  const std::size_t begin = text[0] == ' ' && text.size() > 1;
  if (byte_kind(text[begin]) != Kind::space) return run(begin);
  const std::size_t end = run(0);  // the last space belongs to the next word
  return end == text.size() || end == 1 ? end : end - 1;
}

struct Alphabet {
  std::array<char32_t, 256> letter;
  std::array<int, 0x144> byte;  // byte that a letter represents; −1: none
};
constexpr Alphabet kAlphabet = [] {
  Alphabet a{};
  a.byte.fill(-1);
  char32_t next = 0x100;
  for (unsigned b = 0; b < 256; ++b) {
    const bool itself = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    a.letter[b] = itself ? static_cast<char32_t>(b) : next++;
    a.byte[a.letter[b]] = static_cast<int>(b);
  }
  return a;
}();

}  // namespace

std::vector<std::string_view> pieces(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    std::size_t length = first_piece(text);
    if (length > kLongest) {
      length = kLongest;  // avoids splitting a character if possible
      for (int i = 0; i < 3 && (static_cast<unsigned char>(text[length]) & 0xC0u) == 0x80u; ++i)
        --length;
    }
    out.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return out;
}

std::string visible(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += encode_utf8(kAlphabet.letter[static_cast<unsigned char>(c)]);
  return out;
}

std::string from_visible(std::string_view text, const std::string& name) {
  std::string out;
  for (const char32_t c : decode_utf8(text, name)) {
    const int byte = c < kAlphabet.byte.size() ? kAlphabet.byte[c] : -1;
    if (byte < 0)  // calls the slow escape() only on failure
      fail<FileError>(name, ": ", escape(c), " in ", quote(text), " does not encode a byte");
    out += static_cast<char>(byte);
  }
  return out;
}

std::vector<std::string> split_text(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    out.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

}  // namespace gradus::io
