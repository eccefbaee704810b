// Signature, header, palette, pixels, end. The pixels are a zlib stream of stored blocks (RFC 1950,
// RFC 1951): each row begins with its filter, 0. https://www.w3.org/TR/png
#include "gradus/io/png.h"

#include <algorithm>

#include "gradus/base/error.h"
#include "gradus/io/crc32.h"

namespace gradus::io {
namespace {

constexpr std::size_t kBlock = 65535;  // bytes of a stored block, at most

std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16 & 0xFFu),
          static_cast<char>(value >> 8 & 0xFFu), static_cast<char>(value & 0xFFu)};
}

std::string chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  return big_endian(static_cast<std::uint32_t>(data.size())) + body +
         big_endian(crc32(body.data(), body.size()));
}

std::uint32_t adler32(const std::string& bytes) {
  std::uint32_t a = 1, b = 0;
  for (const char c : bytes) {
    a = (a + static_cast<unsigned char>(c)) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

std::string stored(const std::string& bytes) {
  std::string out = "\x78\x01";  // deflate, no preset dictionary
  for (std::size_t at = 0; at < bytes.size(); at += kBlock) {
    const std::size_t n = std::min(kBlock, bytes.size() - at);
    const auto low = static_cast<char>(n & 0xFFu), high = static_cast<char>(n >> 8);
    out += {static_cast<char>(at + n == bytes.size()), low, high, static_cast<char>(~low),
            static_cast<char>(~high)};
    out.append(bytes, at, n);
  }
  return out + big_endian(adler32(bytes));
}

}  // namespace

std::string png(const Picture& p) {
  require(p.width > 0 && p.height > 0 && p.width < 1 << 20 && p.height < 1 << 20 &&
              std::ssize(p.pixels) == p.width * p.height,
          "png: ", p.pixels.size(), " pixels for ", p.width, " x ", p.height);
  require(!p.palette.empty() && p.palette.size() <= 256, "png: a palette of ", p.palette.size(),
          " colours: must be 1 to 256");
  require(*std::max_element(p.pixels.begin(), p.pixels.end()) < p.palette.size(),
          "png: a pixel beyond the palette of ", p.palette.size());
  std::string rows, colours;
  for (auto row = p.pixels.begin(); row != p.pixels.end(); row += p.width) {
    rows += '\0';
    rows.append(row, row + p.width);
  }
  for (const auto& colour : p.palette) colours.append(colour.begin(), colour.end());
  const std::string header = big_endian(static_cast<std::uint32_t>(p.width)) +
                             big_endian(static_cast<std::uint32_t>(p.height)) +
                             std::string("\x08\x03\0\0\0", 5);  // 8 bits, by palette
  return "\x89PNG\r\n\x1A\n" + chunk("IHDR", header) + chunk("PLTE", colours) +
         chunk("IDAT", stored(rows)) + chunk("IEND", "");
}

}  // namespace gradus::io
