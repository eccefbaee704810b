// A digest of texts, enough to notice another one.
#pragma once

#include <cstdint>
#include <string_view>

namespace gradus::examples {

/// FNV-1a, 64 bits, going on from `before`, which is of what came before.
inline std::uint64_t digest(std::string_view text, std::uint64_t before = 14695981039346656037u) {
  for (const char c : text) before = (before ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return before;
}

}  // namespace gradus::examples
