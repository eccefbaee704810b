#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace gradus::testing {

template <class T>
std::string raw(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
inline std::string text(const std::string& each) { return raw<std::uint64_t>(each.size()) + each; }

}  // namespace gradus::testing
