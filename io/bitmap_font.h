// Letters of dots, for pictures without a font.
#pragma once

#include <cstdint>
#include <string_view>

#include "gradus/io/png.h"

namespace gradus::io {

constexpr std::int64_t kLetterWidth = 6, kLetterHeight = 8;  // in dots, with the gap to the next

enum class Writing { rightwards, upwards };

/// Draws `words` in `ink`, a place in the palette, each dot as scale · scale pixels: printable
/// ASCII and ␣ ↵ ⇥ · …; any other code point as a hollow box, and so what is not UTF-8. (x, y) is
/// the first letter's upper left corner; `upwards` turns it by 90°, and (x, y) is its lower left
/// one. What lies outside of the picture is not drawn.
void draw_text(Picture& picture, std::int64_t x, std::int64_t y, std::string_view words,
               std::uint8_t ink, std::int64_t scale = 1, Writing writing = Writing::rightwards);

}  // namespace gradus::io
