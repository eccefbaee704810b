#pragma once

#include <cstdint>
#include <limits>
#include <ostream>
#include <type_traits>

namespace gradus {

/// A C++ number. Integers keep all 64 bits, so i64 tensors can store them exactly.
class Scalar {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr Scalar(T value)  // NOLINT: implicit
      : real_(static_cast<double>(value)) {
    if constexpr (std::is_integral_v<T>) {
      integer_ = static_cast<std::int64_t>(value);
      is_integer_ = integer_ >= 0 || std::is_signed_v<T>;  // false if too large
    }
  }

  constexpr bool is_integer() const { return is_integer_; }
  constexpr std::int64_t integer() const { return integer_; }  // valid only if is_integer()
  constexpr double real() const { return real_; }              // rounded if beyond ±2⁵³

  friend constexpr Scalar operator-(Scalar x) {
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    return x.is_integer_ && x.integer_ != kLeast ? Scalar(-x.integer_) : Scalar(-x.real_);
  }
  friend std::ostream& operator<<(std::ostream& out, Scalar x) {
    return x.is_integer_ ? out << x.integer_ : out << x.real_;
  }

 private:
  double real_;
  std::int64_t integer_ = 0;
  bool is_integer_ = false;
};

}  // namespace gradus
