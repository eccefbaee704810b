// UTF-8 text: reading, decoding and displaying.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::io {

/// Returns the bytes of a file or pipe, unchanged. Throws FileError if `path` is missing, a
/// directory, a device or not readable.
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
  std::size_t length = 1;  // in bytes; if invalid, the bytes that one U+FFFD replaces
};
/// Decodes one character, 0 ≤ at < text.size(). Unicode 15, table 3-7.
Utf8 utf8_at(std::string_view text, std::size_t at);

/// Returns the code points of `text`. Throws FileError, with byte and offset, if `text` is not
/// UTF-8.
std::vector<char32_t> decode_utf8(std::string_view text, const std::string& name);
std::string encode_utf8(std::span<const char32_t> code_points);
std::string encode_utf8(char32_t code_point);  // throws ValueError for surrogates and > U+10FFFF
bool is_utf8(std::string_view text);
/// Returns the length in bytes of the longest prefix that is valid UTF-8.
std::size_t valid_utf8(std::string_view text);
/// Replaces each maximal invalid part with U+FFFD, as Unicode recommends.
std::string replace_invalid_utf8(std::string_view text);
/// Escapes text for SVG and HTML. Drops control characters and replaces invalid UTF-8.
std::string escape_xml(std::string_view text);

/// Returns the number of characters in UTF-8 text.
std::int64_t count_characters(std::string_view text);

/// Returns the number with grouped digits: 1,115,394.
std::string grouped(std::int64_t number);

/// Quotes a name for error messages: escapes control characters, and keeps at most 80 bytes.
std::string quote(std::string_view name);
/// Shortens another library's message to 160 bytes of UTF-8.
std::string abbreviate(std::string_view complaint);
/// Shows a character in an error message: 'é' (U+00E9), or U+0007 if not visible.
std::string escape(char32_t code_point);

}  // namespace gradus::io
