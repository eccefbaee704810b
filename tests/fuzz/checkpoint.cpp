// Fuzzes io::parse_checkpoint. Corrects the checksum, which random inputs never match.
#include "gradus/io/checkpoint.h"

#include <algorithm>

#include "gradus/tests/fuzz/watch.h"

using namespace gradus;

namespace {

/// Returns the input with its correct checksum, or nothing if another part is invalid.
std::optional<std::string> with_right_checksum(fuzz::Bytes input) {
  try {
    io::parse_checkpoint(input, "input");
  } catch (const FileError& refusal) {
    const std::string_view message = refusal.what(), key = "\"gradus.crc32\":\"",
                           found = "its contents give \"";
    std::string bytes(fuzz::text_of(input));
    const std::size_t at = bytes.find(key), from = message.rfind(found);
    if (at == std::string::npos || !message.starts_with("input: the checkpoint is damaged "))
      return std::nullopt;
    const std::size_t begin = at + key.size();
    if (bytes.find('"', begin) != begin + 8) return std::nullopt;
    return bytes.replace(begin, 8, message.substr(from + found.size(), 8));
  }
  return std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Bytes input = std::as_bytes(std::span(data, size));
  const auto parse = [](fuzz::Bytes bytes) {
    return fuzz::read_within_limits(bytes.size(),
                                    [&] { return io::parse_checkpoint(bytes, "input"); });
  };
  if (parse(input)) return 0;
  if (const auto fixed = with_right_checksum(input))
    fuzz::law(parse(std::as_bytes(std::span(*fixed))).has_value(),
              "a checkpoint with the correct checksum must be read");
  return 0;
}
