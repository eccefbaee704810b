// What a fuzz target asks of a reader, beside not to crash: time, memory, and how it refuses.
//
// A reader gets an input of n bytes. It may take 0.2 seconds of the processor, and 100 n bytes of
// memory at once beside a constant. It returns what it read, or throws a FileError whose message
// is one short line. All else is a violation: it is printed, and the program ends with 1, which
// makes libFuzzer keep the input.
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
/// Readers' own buffers do not grow with the input: streams, messages and the JSON library's number
/// buffers are a few kB, read_numbers converts in pieces of at most 128 KiB.
inline constexpr std::int64_t kConstantBytes = 256 << 10;

[[noreturn]] void violated(const std::string& what);

/// A law beside the limits: what was read and written again is the same.
inline void law(bool holds, const char* what) {
  if (!holds) violated(std::string("not so: ") + what);
}

/// One line of at most 1,000 bytes, in UTF-8 and without control characters.
void check_message(std::string_view message);

/// Time and memory from its beginning on.
class Watch {
 public:
  Watch(std::size_t input_bytes, std::int64_t constant_bytes);
  void check() const;

 private:
  std::int64_t most_bytes_, live_before_;
  std::clock_t start_;
};

/// What `read` returns, or nothing where it refuses; within the limits for `input_bytes`.
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
    violated(std::string("it threw something else than a FileError: ") + other.what());
  }
  watch.check();
  return result;
}

}  // namespace gradus::fuzz

/// What each target defines, and libFuzzer or replay.cpp calls. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
