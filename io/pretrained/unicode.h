// What tokenizers ask of Unicode: kinds of characters, lower case, normal forms. tools/unicode.py
// makes the tables.
#pragma once

#include <string_view>
#include <vector>

namespace gradus::io {

/// Spaces are the 25 of White_Space; marks are those without a width (Mn); control characters are
/// Cc, Cf and Co but for spaces; other: symbols, marks with a width, what is not assigned.
enum class CharKind : unsigned char { other, letter, number, space, mark, punctuation, control };
CharKind kind_of(char32_t c);

using Characters = std::vector<char32_t>;

/// Of text that is UTF-8; each part that is not becomes U+FFFD.
Characters characters_of(std::string_view text);
/// Each character by itself: no rule asks for its neighbours.
Characters lower_case(const Characters& text);
/// The canonical normal forms, NFD and NFC.
Characters decomposed(const Characters& text);
Characters composed(const Characters& text);

}  // namespace gradus::io
