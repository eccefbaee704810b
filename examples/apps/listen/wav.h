// Reads and writes WAV files with 16 bits and one channel.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gradus::examples {

struct Wav {
  std::int64_t rate;           // samples per second
  std::vector<float> samples;  // in [−1, 1)
};

/// Throws FileError for invalid files and other formats. Skips other chunks.
Wav read_wav(const std::string& path);
Wav parse_wav(std::span<const std::byte> bytes, const std::string& name);

/// Writes atomically. Rounds to 1/32768 and clamps to 16 bits.
void write_wav(const std::string& path, const Wav& wav);

}  // namespace gradus::examples
