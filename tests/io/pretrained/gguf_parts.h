// What GGUF files are made of, written by hand.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace gradus::testing {

/// A number as it lies in memory.
template <class T>
std::string raw(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
/// A text behind its length.
inline std::string text(const std::string& each) { return raw<std::uint64_t>(each.size()) + each; }

}  // namespace gradus::testing
