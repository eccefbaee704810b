#include "gradus/io/text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "gradus/engine/base/error.h"

namespace gradus::io {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

std::string hex(std::uint32_t value, int digits) {
  char text[9];
  std::snprintf(text, sizeof text, "%0*X", digits, value);
  return text;
}

/// Properties of a lead byte. E0, ED, F0 and F4 narrow the range of the second byte, to exclude
/// overlong forms, surrogates and code points beyond U+10FFFF.
struct Lead {
  std::size_t length;                // 0: not a lead byte
  unsigned low = 0x80, high = 0xBF;  // range of the second byte
};
Lead lead_of(unsigned byte) {
  if (byte < 0x80) return {1};
  if (byte < 0xC2 || byte > 0xF4) return {0};
  if (byte < 0xE0) return {2};
  if (byte < 0xF0) return {3, byte == 0xE0 ? 0xA0u : 0x80u, byte == 0xED ? 0x9Fu : 0xBFu};
  return {4, byte == 0xF0 ? 0x90u : 0x80u, byte == 0xF4 ? 0x8Fu : 0xBFu};
}

}  // namespace

std::string read_text(const std::string& path) {
  std::error_code failure;
  require<FileError>(!std::filesystem::is_directory(path, failure), path,
                     " is a directory, not a file");
  require<FileError>(!std::filesystem::is_character_file(path, failure), path,
                     " is a device, not a file or pipe");  // some devices never end
  std::ifstream file(path, std::ios::binary);
  require<FileError>(file.is_open(), "cannot read ", path, ": ",
                     std::generic_category().message(errno));
  std::string text;
  std::vector<char> part(std::size_t{1} << 20);
  while (file.read(part.data(), static_cast<std::streamsize>(part.size())) || file.gcount() > 0)
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
  require<FileError>(!file.bad(), "cannot read ", path, " beyond byte ", text.size(), ": ",
                     std::generic_category().message(errno));
  return text;
}

Utf8 utf8_at(std::string_view text, std::size_t at) {
  const unsigned first = static_cast<unsigned char>(text[at]);
  const Lead lead = lead_of(first);
  if (lead.length == 0) return {Utf8::invalid, 0, 1};
  if (lead.length == 1) return {Utf8::character, static_cast<char32_t>(first), 1};
  unsigned code_point = first & (0xFFu >> lead.length);  // drops the length bits
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (at + i == text.size()) return {Utf8::incomplete, 0, i};
    const unsigned byte = static_cast<unsigned char>(text[at + i]);
    const bool fits = i == 1 ? lead.low <= byte && byte <= lead.high : (byte & 0xC0u) == 0x80u;
    if (!fits) return {Utf8::invalid, 0, i};
    code_point = code_point << 6 | (byte & 0x3Fu);
  }
  return {Utf8::character, static_cast<char32_t>(code_point), lead.length};
}

std::vector<char32_t> decode_utf8(std::string_view text, const std::string& name) {
  std::vector<char32_t> code_points;
  code_points.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8 found = utf8_at(text, at);
    if (found.kind != Utf8::character)  // calls the slow hex() only on failure
      fail<FileError>(name, ": not UTF-8 at byte ", at, " (0x",
                      hex(static_cast<unsigned char>(text[at]), 2),
                      "). Convert the text, or use the byte tokenizer, which accepts any bytes.");
    code_points.push_back(found.code_point);
    at += found.length;
  }
  return code_points;
}

std::string encode_utf8(char32_t code_point) {
  const std::uint32_t c = code_point;
  if ((c >= 0xD800 && c <= 0xDFFF) || c >= 0x110000)  // calls the slow hex() only on failure
    fail<ValueError>("U+", hex(c, 4), " is not a Unicode character");
  const auto tail = [c](int shift) { return static_cast<char>(0x80u | (c >> shift & 0x3Fu)); };
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return {static_cast<char>(0xC0u | c >> 6), tail(0)};
  if (c < 0x10000) return {static_cast<char>(0xE0u | c >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0u | c >> 18), tail(12), tail(6), tail(0)};
}

std::string encode_utf8(std::span<const char32_t> code_points) {
  std::string text;
  for (const char32_t code_point : code_points) text += encode_utf8(code_point);
  return text;
}

bool is_utf8(std::string_view text) { return valid_utf8(text) == text.size(); }

std::size_t valid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Utf8 found = utf8_at(text, at);
    if (found.kind != Utf8::character) break;
    at += found.length;
  }
  return at;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string valid;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8 found = utf8_at(text, at);
    valid += found.kind == Utf8::character ? text.substr(at, found.length) : kReplacement;
    at += found.length;
  }
  return valid;
}

std::string quote(std::string_view name) {
  constexpr std::size_t kLongest = 80;
  std::string shown = "\"";
  const std::string valid = replace_invalid_utf8(name.substr(0, kLongest));
  for (const char c : valid) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F)
      shown += "\\u" + hex(byte, 4);
    else if (c == '"' || c == '\\')
      shown += {'\\', c};
    else
      shown += c;
  }
  return shown + (name.size() > kLongest ? "…\"" : "\"");
}

std::string abbreviate(std::string_view complaint) {
  return replace_invalid_utf8(complaint.substr(0, 160));
}

std::string escape_xml(std::string_view text) {
  constexpr std::string_view kOwn = "&<>\"";
  constexpr const char* kEscapes[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
  std::string out;
  for (const char c : replace_invalid_utf8(text)) {
    const std::size_t own = kOwn.find(c);
    if (own != std::string_view::npos)
      out += kEscapes[own];
    else if (static_cast<unsigned char>(c) >= ' ')
      out += c;
  }
  return out;
}

std::int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; });
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::ptrdiff_t at = std::ssize(digits) - 3; at > (number < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string escape(char32_t code_point) {
  const std::uint32_t c = code_point;
  const std::string number = "U+" + hex(c, 4);
  const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
  return control ? number : "'" + encode_utf8(code_point) + "' (" + number + ")";
}

}  // namespace gradus::io
