// UTF-8 text: reading, decoding and showing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::io {

/// Bytes of a file or pipe, unchanged. Throws FileError if it is missing, a directory, a device or
/// not readable.
std::string read_text(const std::string& path);

/// The character at one position of a text.
struct Utf8 {
  enum Kind {
    character,   // sets code_point and length
    incomplete,  // the text ends within a valid character
    invalid      // overlong, surrogate, beyond U+10FFFF, stray byte
  };
  Kind kind = invalid;
  char32_t code_point = 0;
  std::size_t length = 1;  // bytes; if invalid, those of one U+FFFD
};
/// Decodes one character, 0 ≤ at < text.size(). Unicode 15, table 3-7.
Utf8 utf8_at(std::string_view text, std::size_t at);

/// Code points of `text`. Throws FileError, with byte and offset, if it is not UTF-8.
std::vector<char32_t> decode_utf8(std::string_view text, const std::string& name);
std::string encode_utf8(std::span<const char32_t> code_points);
std::string encode_utf8(char32_t code_point);  // ValueError: surrogates, > U+10FFFF
bool is_utf8(std::string_view text);
/// Bytes of the longest UTF-8 prefix.
std::size_t valid_utf8(std::string_view text);
/// Replaces each maximal invalid part by U+FFFD, as Unicode recommends.
std::string replace_invalid_utf8(std::string_view text);
/// Escapes text for SVG and HTML. Drops control characters, replaces invalid UTF-8.
std::string escape_xml(std::string_view text);

/// Number of characters of UTF-8 text.
std::int64_t count_characters(std::string_view text);

/// Groups digits: 1,115,394.
std::string grouped(std::int64_t number);

/// Quotes a name for messages: control characters escaped, at most 80 bytes.
std::string quote(std::string_view name);
/// Shortens another library's message to 160 bytes of UTF-8.
std::string abbreviate(std::string_view complaint);
/// A character for messages: 'é' (U+00E9), or U+0007 if not visible.
std::string escape(char32_t code_point);

}  // namespace gradus::io
