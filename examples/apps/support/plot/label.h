#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gradus::plot {

/// Replaces spaces and control characters with symbols (␣ ↵ ⇥ …) and truncates to 14 columns.
std::string label(const std::string& token);

/// Returns the width in columns. Wide characters (CJK, emoji) take two.
std::int64_t columns_of(std::string_view words);

}  // namespace gradus::plot
