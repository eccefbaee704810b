// Repeats a part of an input, to detect superlinear time or memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace gradus::fuzz {

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
