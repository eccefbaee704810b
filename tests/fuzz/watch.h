// Limits on a reader's time, memory and errors.
//
// For an input of n bytes, a reader may use 0.2 seconds of CPU time, and 100 n bytes of memory plus
// a constant. It must return a result, or throw a FileError with a single short line. The program
// prints a violation and ends with code 1, which makes libFuzzer keep the input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gradus/engine/base/error.h"

namespace gradus::fuzz {

using Bytes = std::span<const std::byte>;
inline std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline constexpr double kSeconds = 0.2;
inline constexpr std::int64_t kTimesItsSize = 100;
/// Memory for buffers of constant size. Streams, messages and the JSON library use a few kB each,
/// and read_numbers at most 128 KiB.
inline constexpr std::int64_t kConstantBytes = 256 << 10;

[[noreturn]] void violated(const std::string& what);

inline void law(bool holds, const char* what) {
  if (!holds) violated(std::string("the law does not hold: ") + what);
}

/// Requires one line of at most 1,000 bytes of UTF-8 without control characters.
void check_message(std::string_view message);

class Watch {
 public:
  Watch(std::size_t input_bytes, std::int64_t constant_bytes);
  void check() const;

 private:
  std::int64_t most_bytes_, live_before_;
  std::clock_t start_;
};

template <class F>
auto read_within_limits(std::size_t input_bytes, F read,
                        std::int64_t constant_bytes = kConstantBytes)
    -> std::optional<decltype(read())> {
  std::optional<decltype(read())> result;
  const Watch watch(input_bytes, constant_bytes);
  try {
    result.emplace(read());
  } catch (const FileError& refusal) {
    watch.check();
    check_message(refusal.what());
    return std::nullopt;
  } catch (const std::exception& other) {
    violated(std::string("the reader threw an exception other than a FileError: ") + other.what());
  }
  watch.check();
  return result;
}

}  // namespace gradus::fuzz

/// Called by libFuzzer or replay.cpp. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
