// WAV files of the plainest sort: 16 bits a sample, one channel.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gradus::examples {

struct Wav {
  std::int64_t rate;           // samples a second
  std::vector<float> samples;  // in [−1, 1)
};

/// FileError: missing, cut off, sizes that do not fit, no RIFF WAVE file, other than 16-bit PCM
/// with one channel. Chunks beside "fmt " and "data" are passed over.
Wav read_wav(const std::string& path);
Wav parse_wav(std::span<const std::byte> bytes, const std::string& name);

/// Whole or not at all; samples are rounded to 1/32768 and limited to what 16 bits hold.
void write_wav(const std::string& path, const Wav& wav);

}  // namespace gradus::examples
