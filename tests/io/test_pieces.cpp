// Compares GPT-2's pieces with a naive implementation.
#include "gradus/io/pieces.h"

#include "gradus/io/text.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_pieces {
namespace {

/// Returns 0 for a blank, 1 for a letter, 2 for a digit, and 3 for any other character.
int kind(char c) {
  if (std::string(" \t\n\v\f\r").find(c) != std::string::npos) return 0;
  if (static_cast<unsigned char>(c) >= 128 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
    return 1;
  return c >= '0' && c <= '9' ? 2 : 3;
}

/// Returns the length of the first piece, ignoring the maximum length.
std::size_t first_of(const std::string& text) {
  for (const std::string each : {"'s", "'t", "'m", "'d", "'re", "'ve", "'ll"})
    if (text.rfind(each, 0) == 0) return each.size();
  const std::size_t blank = text[0] == ' ' && text.size() > 1 && kind(text[1]) != 0;
  std::size_t end = blank;
  while (end < text.size() && kind(text[end]) == kind(text[blank])) ++end;
  if (kind(text[blank]) != 0 || end == text.size() || end == 1) return end;
  return end - 1;  // the last blank belongs to the next word
}

std::vector<std::string> naive(std::string text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    std::size_t n = first_of(text);
    if (n > 128) {  // splits at a character boundary within three bytes, if there is one
      n = 128;
      while (n > 125 && (text[n] & 0xC0) == 0x80) --n;
    }
    out.push_back(text.substr(0, n));
    text.erase(0, n);
  }
  return out;
}

void check(const std::string& text) {
  std::vector<std::string> cut;
  for (const std::string_view each : io::pieces(text)) cut.emplace_back(each);
  if (cut == naive(text)) return;
  INFO(text);
  CHECK(cut == naive(text));
}

}  // namespace

TEST_CASE("pieces of every text of up to four bytes match the reference rule") {
  const std::string bytes = "as' 1\n!\xC3";
  for (const char a : bytes) {
    check({a});
    for (const char b : bytes) {
      check({a, b});
      for (const char c : bytes) {
        check({a, b, c});
        for (const char d : bytes) check({a, b, c, d});
      }
    }
  }
  for (int c = 0; c < 256; ++c)
    for (const char neighbor : bytes) check({neighbor, static_cast<char>(c), neighbor});
  for (const char* each : {"'s", "'t", "'m", "'d", "'re", "'ve", "'ll", "'r", "'l", "'v", "'x"})
    for (const char* after : {"", "x", " x", "e", "l"}) check(std::string("a") + each + after);
}

TEST_CASE("overlong pieces end at the beginning of a character") {
  for (std::size_t n = 124; n < 134; ++n)
    for (const char* unit : {"a", "\xC3\xA9", "\xE6\x97\xA5", "\xF0\x9F\x98\x80", "\x80", " ", "7"})
      for (const char* before : {"", " ", "b", " bb"}) {
        std::string text = before;
        while (text.size() < n) text += unit;
        check(text);
        check(text + "!");
        check(text + text);
      }
}

TEST_CASE("each byte has a visible character, and no other character encodes a byte") {
  std::string all;
  for (int b = 0; b < 256; ++b) {
    const std::string byte(1, static_cast<char>(b));
    CHECK(io::from_visible(io::visible(byte), "t") == byte);
    CHECK(io::count_characters(io::visible(byte)) == 1);
    if (b > 32 && b < 127) CHECK(io::visible(byte) == byte);
    all += byte;
  }
  CHECK(io::from_visible(io::visible(all), "t") == all);
  CHECK(io::visible(" ") == "Ġ");
  CHECK(io::visible("\n") == "Ċ");
  for (char32_t c = 0; c < 0x200; ++c) {
    const std::string text = io::encode_utf8(c);
    std::string bytes;
    const std::string message = refusal([&] { bytes = io::from_visible(text, "t"); });
    if ((c > 32 && c < 127) || (c > 0xA0 && c != 0xAD && c < 0x144))
      CHECK(io::visible(bytes) == text);
    else
      CHECK(message ==
            "t: " + io::escape(c) + " in " + io::quote(text) + " does not encode a byte");
  }
}

TEST_CASE("split_text splits at each separator") {
  using Parts = std::vector<std::string>;
  CHECK(io::split_text("", ' ').empty());
  CHECK(io::split_text("a", ' ') == Parts{"a"});
  CHECK(io::split_text("a b", ' ') == Parts{"a", "b"});
  CHECK(io::split_text(" a  b ", ' ') == Parts{"", "a", "", "b"});
  CHECK(io::split_text("  ", ' ') == Parts{"", ""});
}

}  // namespace gradus::testing::test_pieces
