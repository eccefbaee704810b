// Pictures as PNG, uncompressed: every viewer shows them, and no library is needed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace gradus::io {

/// width · height pixels from the upper left, row by row; each is a place in `palette` (red, green,
/// blue; at most 256). ValueError: sizes that do not fit, a pixel beyond the palette.
struct Picture {
  std::int64_t width, height;
  std::vector<std::uint8_t> pixels;
  std::vector<std::array<std::uint8_t, 3>> palette;
};
std::string png(const Picture& picture);  // the bytes of the file

}  // namespace gradus::io
