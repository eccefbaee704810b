// Inputs that grow: a part of one, many times. Work or memory that grows faster than the input
// shows in them, and a fuzzer that changes a few bytes at a time seldom makes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace gradus::fuzz {

/// `input` with its bytes [at, at + length) repeated as often as `most` bytes in all allow.
inline std::vector<std::uint8_t> repeated(std::span<const std::uint8_t> input, std::size_t at,
                                          std::size_t length, std::size_t most) {
  const auto part = input.subspan(at, length);
  std::vector<std::uint8_t> out;
  out.reserve(std::max(most, input.size()));
  out.assign(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(at));
  do {
    out.insert(out.end(), part.begin(), part.end());
  } while (out.size() + input.size() - at <= most);
  out.insert(out.end(), input.begin() + static_cast<std::ptrdiff_t>(at + length), input.end());
  return out;
}

}  // namespace gradus::fuzz
