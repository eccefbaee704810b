// Unicode for tokenizers: character types, lower case, normal forms. tools/unicode.py generates the
// tables.
#pragma once

#include <string_view>
#include <vector>

namespace gradus::io {

/// Character types. space: the 25 characters of White_Space. mark: a mark without width (Mn).
/// control: Cc, Cf and Co except spaces. other: symbols, marks with a width, unassigned characters.
enum class CharKind : unsigned char { other, letter, number, space, mark, punctuation, control };
CharKind kind_of(char32_t c);

/// Text as a sequence of Unicode code points.
using Characters = std::vector<char32_t>;

/// Decodes UTF-8 text. Each invalid part becomes U+FFFD.
Characters characters_of(std::string_view text);
/// Lower-cases each character, independent of its neighbors.
Characters lower_case(const Characters& text);
/// Return the canonical normal forms NFD and NFC.
Characters decomposed(const Characters& text);
Characters composed(const Characters& text);

}  // namespace gradus::io
