// Text cut into words with the space before them, as GPT-2's tokenizer cuts it (Radford et al.
// 2019), and bytes written as visible letters, as its files do.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::io {

/// "It's 12 o'clock,  now" → It|'s| 12| o|'|clock|,| | now. Together the pieces are the text,
/// whatever its bytes. GPT-2's regular expression, but for two things: every character beyond ASCII
/// is a letter here (there, some are digits, marks or spaces), and a piece ends after 128 bytes.
std::vector<std::string_view> pieces(std::string_view text);

/// Bytes as text without spaces or control characters: ! to ~, ¡ to ¬ and ® to ÿ stand for
/// themselves, the other 68 bytes for U+0100 and up in their order; so a space is Ġ.
std::string visible(std::string_view bytes);
/// The way back. FileError names `name` where a character stands for no byte.
std::string from_visible(std::string_view text, const std::string& name);

/// Parts of `text` between single `separator`s; none of an empty text.
std::vector<std::string> split_text(std::string_view text, char separator);

}  // namespace gradus::io
