// Text as files hold it: bytes that are UTF-8, or are meant to be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::io {

/// The bytes of a file (or pipe), unchanged: line ends, NULs and a byte order mark stay. A file of
/// no bytes gives "". FileError: missing, a directory, a device, not readable.
std::string read_text(const std::string& path);

/// What stands at one place of a text.
struct Utf8 {
  enum Kind {
    character,   // code_point and length are set
    incomplete,  // the text ends within a character that could still become whole
    invalid      // never UTF-8: overlong, a surrogate, beyond U+10FFFF, a stray byte
  };
  Kind kind = invalid;
  char32_t code_point = 0;
  std::size_t length = 1;  // bytes; of invalid ones those that one U+FFFD stands for
};
/// Unicode 15, table 3-7. 0 ≤ at < text.size().
Utf8 utf8_at(std::string_view text, std::size_t at);

/// The code points of `text`. FileError names `name`, byte and offset where it is not UTF-8.
std::vector<char32_t> decode_utf8(std::string_view text, const std::string& name);
std::string encode_utf8(std::span<const char32_t> code_points);
std::string encode_utf8(char32_t code_point);  // ValueError for surrogates and beyond U+10FFFF
bool is_utf8(std::string_view text);
/// How many bytes at the beginning of `text` are whole characters of UTF-8.
std::size_t valid_utf8(std::string_view text);
/// `text` with U+FFFD for each maximal part of it that is not UTF-8, as Unicode recommends.
std::string replace_invalid_utf8(std::string_view text);
/// Text for SVG and HTML: XML's own characters are escaped, control characters dropped, what is not
/// UTF-8 replaced.
std::string escape_xml(std::string_view text);

/// How many characters `text`, which is UTF-8, has: the bytes that do not continue one.
std::int64_t count_characters(std::string_view text);

/// 1,115,394: long numbers are easier to read so.
std::string grouped(std::int64_t number);

/// How messages show a name from outside: in quotes, control characters escaped, at most 80 bytes.
std::string quote(std::string_view name);
/// How messages show what another library complains of, which may quote a file: 160 bytes, UTF-8.
std::string abbreviate(std::string_view complaint);
/// How messages show a character: 'é' (U+00E9), or U+0007 alone where there is nothing to see.
std::string escape(char32_t code_point);

}  // namespace gradus::io
