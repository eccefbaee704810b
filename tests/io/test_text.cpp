// Text: UTF-8 both ways, and what is shown of what is not.
#include <limits>
#include <string>
#include <vector>

#include "gradus/io/text.h"
#include "gradus/tests/io/files.h"

namespace gradus::testing {

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
  CHECK(contains(message_of<ValueError>([] { io::encode_utf8(char32_t{0xD800}); }), "U+D800"));
  CHECK_THROWS_AS(io::encode_utf8(char32_t{0x110000}), ValueError);
}

TEST_CASE("text: what is not UTF-8 is named by its offset and replaced part by part") {
  // Of a part that could not be continued one U+FFFD remains: examples of Unicode 15, section 3.9
  const std::string r = "\xEF\xBF\xBD";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"ab\xFF"
       "c",
       "ab" + r + "c"},
      {"\x80", r},
      {"\xC0\xAF", r + r},                  // overlong
      {"\xE0\x80\xAF", r + r + r},          // overlong
      {"\xED\xA0\x80", r + r + r},          // a surrogate
      {"\xF4\x90\x80\x80", r + r + r + r},  // beyond U+10FFFF
      {"\xF5", r},
      {"\xE2\x82", r},  // cut off
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
  const std::string message = message_of([] { io::decode_utf8("né\xFFx", "t.txt"); });
  CHECK(contains(message, "t.txt: not UTF-8 at byte 3 (0xFF)"));
}

TEST_CASE("text: a file is read as it is") {
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
    return message_of([&] { io::read_text(folder / name); });
  };
  CHECK(contains(fault("none"), "none: No such file or directory"));
  CHECK(contains(fault(""), "is a directory"));
}

TEST_CASE("text: names and characters are shown safely") {
  CHECK(io::in_quotes("a\"b\\\n") == "\"a\\\"b\\\\\\u000A\"");
  CHECK(io::in_quotes("é\xFF") == "\"é\xEF\xBF\xBD\"");
  CHECK(io::in_quotes(std::string(1000, 'x')) == "\"" + std::string(80, 'x') + "…\"");
  CHECK(io::shown(U'é') == "'é' (U+00E9)");
  CHECK(io::shown(U'\a') == "U+0007");
  CHECK(io::shown(U'\u0085') == "U+0085");
}

TEST_CASE("text: characters are counted, not bytes, and long numbers grouped") {
  CHECK(io::count_characters("") == 0);
  CHECK(io::count_characters("né … √d") == 7);
  CHECK(io::grouped(0) == "0");
  CHECK(io::grouped(-999) == "-999");
  CHECK(io::grouped(1000) == "1,000");
  CHECK(io::grouped(-1115394) == "-1,115,394");
  CHECK(io::grouped(std::numeric_limits<std::int64_t>::min()) == "-9,223,372,036,854,775,808");
}

}  // namespace gradus::testing
