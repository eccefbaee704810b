#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "gradus/io/text.h"
#include "gradus/tests/io/comma_locale.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_text {
namespace {

bool one_character(std::string_view bytes) {
  const std::size_t n = bytes.size();
  const unsigned first = static_cast<unsigned char>(bytes[0]);
  constexpr unsigned form[] = {0, 0x00, 0xC0, 0xE0, 0xF0}, mask[] = {0, 0x80, 0xE0, 0xF0, 0xF8};
  constexpr unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
  if ((first & mask[n]) != form[n]) return false;
  unsigned c = first & ~mask[n];
  for (const char each : bytes.substr(1)) {
    const unsigned byte = static_cast<unsigned char>(each);
    if ((byte & 0xC0u) != 0x80) return false;
    c = c << 6 | (byte & 0x3Fu);
  }
  return least[n] <= c && c < 0x110000 && (c < 0xD800 || c > 0xDFFF);
}

bool beginning(const std::string& bytes) {
  if (bytes.size() > 3) return false;
  for (const char next : {'\x80', '\xBF'})  // every valid range contains one of these
    if (one_character(bytes + next) || beginning(bytes + next)) return true;
  return false;
}

}  // namespace

TEST_CASE("text: utf8_at follows the definition of UTF-8") {
  const std::string telling =
      "\x41\x7F\x80\x8F\x90\x9F\xA0\xBF\xC0\xC1\xC2\xDF\xE0\xE1\xEC\xED\xEE\xEF\xF0\xF1\xF3\xF4\xF5"
      "\xFF";
  const auto judge = [](const std::string& bytes) {
    const io::Utf8 found = io::utf8_at(bytes, 0);
    std::size_t whole = 0, begun = 0;  // length of a character, or of its longest prefix
    for (std::size_t n = 1; n <= bytes.size(); ++n) {
      if (one_character(bytes.substr(0, n))) whole = n;
      if (beginning(bytes.substr(0, n))) begun = n;
    }
    const io::Utf8::Kind kind = whole > 0               ? io::Utf8::character
                                : begun == bytes.size() ? io::Utf8::incomplete
                                                        : io::Utf8::invalid;
    if (kind != io::Utf8::character && found.code_point != 0) return false;
    return found.kind == kind &&
           found.length == std::max<std::size_t>(1, whole > 0 ? whole : begun);
  };
  std::size_t wrong = 0;
  for (const char a : telling) {
    wrong += !judge({a});
    for (const char b : telling) {
      wrong += !judge({a, b});
      for (const char c : telling) {
        wrong += !judge({a, b, c});
        for (const char d : {'\x41', '\x80', '\xBF'}) wrong += !judge({a, b, c, d});
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("text: every code point is encoded and decoded") {
  std::vector<char32_t> all;
  for (char32_t c = 0; c < 0x110000; ++c)
    if (c < 0xD800 || c > 0xDFFF) all.push_back(c);
  const std::string bytes = io::encode_utf8(all);
  CHECK(bytes.size() == 0x80 + 2 * (0x800 - 0x80) + 3 * (0x10000 - 0x800 - 0x800) + 4 * 0x100000);
  CHECK((io::decode_utf8(bytes, "all") == all));
  CHECK(io::is_utf8(bytes));
  CHECK(io::encode_utf8(U'é') == "\xC3\xA9");
  CHECK(io::encode_utf8(U'\U0001F600') == "\xF0\x9F\x98\x80");
  CHECK_REFUSES(ValueError, io::encode_utf8(char32_t{0xD800}), "U+D800");
  CHECK_REFUSES(ValueError, io::encode_utf8(char32_t{0xDFFF}), "U+DFFF");
  CHECK_THROWS_AS(io::encode_utf8(char32_t{0x110000}), ValueError);
}

TEST_CASE("text: invalid UTF-8 is reported by its offset and replaced part by part") {
  // Each maximal invalid part becomes one U+FFFD (Unicode 15, section 3.9).
  const std::string r = "\xEF\xBF\xBD";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"ab\xFF"
       "c",
       "ab" + r + "c"},
      {"\x80", r},
      {"\xC0\xAF", r + r},                  // overlong
      {"\xE0\x80\xAF", r + r + r},          // overlong
      {"\xED\xA0\x80", r + r + r},          // surrogate
      {"\xF4\x90\x80\x80", r + r + r + r},  // above U+10FFFF
      {"\xF5", r},
      {"\xE2\x82", r},  // truncated
      {"\xF0\x9F\x98", r},
      {"\xF0\x9F\x98"
       "a",
       r + "a"},
      {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", r + r + r + r + "A"},
      {"é\xC3", "é" + r},
  };
  for (const auto& [bytes, replaced] : cases) {
    INFO(replaced);
    CHECK(!io::is_utf8(bytes));
    CHECK(io::replace_invalid_utf8(bytes) == replaced);
    CHECK_THROWS_AS(io::decode_utf8(bytes, "t"), FileError);
  }
  const std::string message = message_of<FileError>([] { io::decode_utf8("né\xFFx", "t.txt"); });
  CHECK(contains(message, "byte 3 (0xFF)"));
}

TEST_CASE("text: a file is read unchanged") {
  const Folder folder;
  const std::string bytes("\xEF\xBB\xBFline\r\n\0no end\xFF", 16);
  write_bytes(folder / "t", bytes);
  CHECK(io::read_text(folder / "t") == bytes);
  write_bytes(folder / "empty", "");
  CHECK(io::read_text(folder / "empty").empty());
  const std::string large(3'000'001, 'x');
  write_bytes(folder / "large", large);
  CHECK(io::read_text(folder / "large") == large);
  const auto fault = [&](const char* name) {
    return message_of<FileError>([&] { io::read_text(folder / name); });
  };
  CHECK(contains(fault("none"), "none: No such file or directory"));
  CHECK(contains(fault(""), "is a directory"));
  if (std::filesystem::exists("/dev/zero"))
    CHECK_REFUSES(FileError, io::read_text("/dev/zero"), "/dev/zero", "device");
}

TEST_CASE("text: names and characters are escaped for display") {
  CHECK(io::quote("a\"b\\\n") == "\"a\\\"b\\\\\\u000A\"");
  CHECK(io::quote("é\xFF") == "\"é\xEF\xBF\xBD\"");
  CHECK(io::quote(std::string(1000, 'x')) == "\"" + std::string(80, 'x') + "…\"");
  CHECK(io::escape(U'é') == "'é' (U+00E9)");
  CHECK(io::escape(U'\a') == "U+0007");
  CHECK(io::escape(U'\u0085') == "U+0085");
}

TEST_CASE("text: control characters of ASCII and Latin-1 are displayed as numbers") {
  for (char32_t c = 0; c < 0x180; ++c) {
    const bool control = c < 0x20 || (0x7F <= c && c < 0xA0);
    CHECK((io::escape(c).front() == 'U') == control);
    if (c >= 0x80) continue;
    const char letter = static_cast<char>(c);
    const std::string quoted = io::quote({&letter, 1});
    const bool escaped = letter == '"' || letter == '\\';
    CHECK(quoted.size() == (control ? 8u : escaped ? 4u : 3u));
    CHECK((control ? std::stoul(quoted.substr(3, 4), nullptr, 16)
                   : static_cast<unsigned long>(quoted[quoted.size() - 2])) == c);
  }
}

TEST_CASE("text: lengths count characters, not bytes, and long numbers are grouped") {
  CHECK(io::count_characters("") == 0);
  CHECK(io::count_characters("né … √d") == 7);
  CHECK(io::grouped(0) == "0");
  CHECK(io::grouped(-999) == "-999");
  CHECK(io::grouped(1000) == "1,000");
  CHECK(io::grouped(-1115394) == "-1,115,394");
  CHECK(io::grouped(std::numeric_limits<std::int64_t>::min()) == "-9,223,372,036,854,775,808");
}

TEST_CASE("text: XML escaping drops control characters and escapes four others") {
  for (int c = 0; c < 128; ++c) {
    const std::string text = std::string("a") + static_cast<char>(c) + "é";
    const std::string between = c == '&'   ? "&amp;"
                                : c == '<' ? "&lt;"
                                : c == '>' ? "&gt;"
                                : c == '"' ? "&quot;"
                                : c < 32   ? ""
                                           : text.substr(1, 1);
    CHECK(io::escape_xml(text) == "a" + between + "é");
  }
  CHECK(io::escape_xml("\xff") == "\xEF\xBF\xBD");
}

TEST_CASE("text: the display of characters and numbers ignores the locale") {
  const CommaLocale commas;
  CHECK(io::escape(U'\a') == "U+0007");
  CHECK(io::escape(U'\U00012345') == "'\xF0\x92\x8D\x85' (U+12345)");
  CHECK(io::quote("\x7f") == "\"\\u007F\"");
  CHECK(io::grouped(1234567) == "1,234,567");
}

}  // namespace gradus::testing::test_text
