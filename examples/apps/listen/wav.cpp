// "RIFF" | number of bytes that follow | "WAVE" | chunks: name, number of bytes, content padded to
// an even length
// "fmt ": format 1, channels, rate, bytes per second, bytes per frame, bits; little-endian
#include "wav.h"

#include <algorithm>
#include <cmath>

#include "gradus/engine/base/error.h"
#include "gradus/io/input.h"
#include "gradus/io/output_file.h"

namespace gradus::examples {
namespace {

constexpr std::uint32_t kMostBytes = 1u << 30;

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  std::size_t left() const { return bytes_.size() - at_; }
  std::span<const std::byte> take(std::size_t n) {
    require<FileError>(n <= left(), name_,
                       ": the file is truncated, or a chunk is too short: ", bytes_.size(),
                       " bytes. Copy or record it again.");
    at_ += n;
    return bytes_.subspan(at_ - n, n);
  }
  std::string letters() {
    std::string word;
    for (const std::byte each : take(4)) word += static_cast<char>(each);
    return word;
  }
  std::uint32_t number(std::size_t n) {
    std::uint32_t value = 0;
    const std::span<const std::byte> bytes = take(n);
    for (std::size_t i = n; i-- > 0;) value = value << 8 | std::to_integer<std::uint32_t>(bytes[i]);
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& name_;
  std::size_t at_ = 0;
};

/// Returns the sampling rate.
std::int64_t read_format(std::span<const std::byte> chunk, const std::string& name) {
  Reader reader(chunk, name);
  const std::uint32_t format = reader.number(2), channels = reader.number(2),
                      rate = reader.number(4), second = reader.number(4), frame = reader.number(2),
                      bits = reader.number(2);
  require<FileError>(format == 1, name, ": has format ", format,
                     ", but only PCM (1) is supported; convert it");
  require<FileError>(channels == 1, name, ": has ", channels,
                     " channels, but must have one; convert it");
  require<FileError>(bits == 16, name, ": has ", bits,
                     " bits per sample, but must have 16; convert it");
  require<FileError>(rate > 0 && frame == 2 && second == 2 * rate, name, ": ", rate,
                     " samples of 2 bytes per second contradict ", second, " bytes per second and ",
                     frame, " per sample");
  return rate;
}

std::vector<float> read_samples(std::span<const std::byte> chunk, const std::string& name) {
  require<FileError>(!chunk.empty() && chunk.size() % 2 == 0, name, ": ", chunk.size(),
                     " bytes of sound are not samples of 2 bytes each");
  Reader reader(chunk, name);
  std::vector<float> samples;
  while (reader.left() > 0)
    samples.push_back(static_cast<float>(static_cast<std::int16_t>(reader.number(2))) / 32768.0f);
  return samples;
}

}  // namespace

Wav parse_wav(std::span<const std::byte> bytes, const std::string& name) {
  Reader reader(bytes, name);
  require<FileError>(bytes.size() >= 12 && reader.letters() == "RIFF", name, ": is not a WAV file");
  const std::uint32_t size = reader.number(4);
  require<FileError>(reader.letters() == "WAVE", name, ": is a RIFF file, but not a WAV file");
  require<FileError>(size == bytes.size() - 8, name, ": states that ", size,
                     " bytes follow its first 8, but there are ", bytes.size() - 8);
  Wav wav{0, {}};
  while (reader.left() > 0) {
    const std::string chunk = reader.letters();
    const std::uint32_t length = reader.number(4);
    const std::span<const std::byte> content = reader.take(length);
    if (length % 2 == 1 && reader.left() > 0) reader.take(1);
    if (chunk == "fmt ") wav.rate = read_format(content, name);
    if (chunk == "data") {
      require<FileError>(wav.rate > 0 && wav.samples.empty(), name,
                         ": must have one \"fmt \" chunk, then one \"data\" chunk");
      wav.samples = read_samples(content, name);
    }
  }
  require<FileError>(!wav.samples.empty(), name,
                     ": contains no sound, as it has no \"data\" chunk");
  return wav;
}

Wav read_wav(const std::string& path) {
  io::Input input(path);
  require<FileError>(input.size() <= kMostBytes, path, ": has ", input.size(),
                     " bytes, but at most 1 GiB is supported");
  std::vector<std::byte> bytes(static_cast<std::size_t>(input.size()));
  input.read(0, bytes.data(), bytes.size());
  return parse_wav(bytes, path);
}

void write_wav(const std::string& path, const Wav& wav) {
  std::string out;
  const auto number = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i & 255u);
  };
  const auto rate = static_cast<std::uint32_t>(wav.rate);
  const auto data = static_cast<std::uint32_t>(2 * wav.samples.size());
  out += "RIFF";
  number(36 + data, 4);
  out += "WAVEfmt ";
  number(16, 4);
  number(1, 2);
  number(1, 2);
  number(rate, 4);
  number(2 * rate, 4);
  number(2, 2);
  number(16, 2);
  out += "data";
  number(data, 4);
  for (const float sample : wav.samples) {
    const long rounded = std::lround(std::clamp(sample * 32768.0f, -32768.0f, 32767.0f));
    number(static_cast<std::uint32_t>(rounded) & 0xFFFFu, 2);
  }
  io::write_file_atomically(path, out.data(), out.size());
}

}  // namespace gradus::examples
