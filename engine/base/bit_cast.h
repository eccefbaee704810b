// bit_cast: std::bit_cast, which libc++ lacks before version 14.
#pragma once

namespace gradus {

/// Returns the bytes of x as a value of another trivially copyable type of the same size.
template <class To, class From>
constexpr To bit_cast(const From& x) noexcept {
  return __builtin_bit_cast(To, x);
}

}  // namespace gradus
