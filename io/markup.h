// Text for SVG and HTML.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gradus::io {

/// Names come from outside: XML's own characters are escaped, control characters dropped, what is
/// not UTF-8 replaced.
std::string escaped(const std::string& words);

/// A token as a label: spaces and control characters as symbols (␣ ↵ ⇥ …), at most 14 columns.
std::string label(const std::string& token);

/// How many columns of type the text takes: wide characters (CJK, emoji) take two.
std::int64_t columns_of(std::string_view words);

std::string base64(std::string_view bytes);

}  // namespace gradus::io
