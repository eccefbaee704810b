// The checksum of zip and of our checkpoints.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradus::io {

/// CRC-32: the polynomial 0x04C11DB7 with its bits reversed. `before`: of what came before.
std::uint32_t crc32(const void* data, std::size_t bytes, std::uint32_t before = 0);

}  // namespace gradus::io
