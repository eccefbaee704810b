#pragma once

#include <cstddef>
#include <cstdint>

namespace gradus::io {

/// CRC-32 as in zip files (polynomial 0x04C11DB7, bit-reversed). `before` is the checksum of the
/// preceding data.
std::uint32_t crc32(const void* data, std::size_t bytes, std::uint32_t before = 0);

}  // namespace gradus::io
