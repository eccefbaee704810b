// Tokens as labels in pictures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gradus::plot {

/// Returns a token with spaces and control characters as symbols (␣ ↵ ⇥ …), at most 14 columns.
std::string label(const std::string& token);

/// Width of a text in columns. Wide characters (CJK, emoji) take two.
std::int64_t columns_of(std::string_view words);

}  // namespace gradus::plot
