// Splits text into words as GPT-2 does, and shows bytes as visible characters. Radford et al. 2019.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::io {

/// Splits text: "It's 12 o'clock,  now" → It|'s| 12| o|'|clock|,| | now. Uses GPT-2's regular
/// expression, except that all non-ASCII characters are letters and a piece ends after 128 bytes.
/// Accepts any bytes.
std::vector<std::string_view> pieces(std::string_view text);

/// Shows bytes as visible characters. ! to ~, ¡ to ¬ and ® to ÿ represent themselves. The other 68
/// bytes become U+0100 and up, in order; a space is Ġ.
std::string visible(std::string_view bytes);
/// Inverts visible(). Throws FileError, naming `name`, for other characters.
std::string from_visible(std::string_view text, const std::string& name);

/// Returns the parts of `text` between separators, or none if `text` is empty.
std::vector<std::string> split_text(std::string_view text, char separator);

}  // namespace gradus::io
