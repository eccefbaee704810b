// Scalar: a C++ number on its way into a tensor.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <ostream>
#include <type_traits>

namespace gradus {

/// Any C++ number. Integers keep all their 64 bits, so that an i64 tensor gets exactly them.
class Scalar {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr Scalar(T value)  // NOLINT: implicit
      : real_(static_cast<double>(value)) {
    if constexpr (std::is_integral_v<T>) {
      is_integer_ = fits(value);
      if (is_integer_) integer_ = static_cast<std::int64_t>(value);
    }
  }

  constexpr bool is_integer() const { return is_integer_; }
  constexpr std::int64_t integer() const { return integer_; }  // where is_integer()
  constexpr double real() const { return real_; }              // rounded beyond ±2⁵³

  friend constexpr Scalar operator-(Scalar x) {
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    return x.is_integer_ && x.integer_ != kLeast ? Scalar(-x.integer_) : Scalar(-x.real_);
  }
  friend std::ostream& operator<<(std::ostream& out, Scalar x) {
    return x.is_integer_ ? out << x.integer_ : out << x.real_;
  }

 private:
  template <class T>
  static constexpr bool fits(T value) {
    if constexpr (std::is_unsigned_v<T> && sizeof(T) >= sizeof(std::int64_t))
      return value <= static_cast<T>(std::numeric_limits<std::int64_t>::max());
    return true;
  }

  double real_;
  std::int64_t integer_ = 0;
  bool is_integer_ = false;
};

}  // namespace gradus
