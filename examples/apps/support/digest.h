#pragma once

#include <cstdint>
#include <string_view>

namespace gradus::examples {

/// Returns the FNV-1a hash of a text that continues the text with digest `before`.
inline std::uint64_t digest(std::string_view text, std::uint64_t before = 14695981039346656037u) {
  for (const char c : text) before = (before ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return before;
}

}  // namespace gradus::examples
