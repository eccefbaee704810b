// A value in double with a running bound on its rounding error.
//
// The error is counted in half-ulps of 1 (2⁻²⁴ in f32, 2⁻⁵³ in f64), to first order. Each operation
// adds its rounding error: half an ulp of the result, or three ulps for functions
// (engine/base/vmath.h is at least as accurate in f32). Higham, "Accuracy and Stability of
// Numerical Algorithms", §3.3.
#pragma once

#include <cmath>
#include <numbers>

#include "gradus/tests/support/dual.h"

namespace gradus::testing::math {

struct Bounded {
  double value = 0, error = 0;

  Bounded() = default;
  /// A constant. Its error is 0 only if f32 represents it exactly.
  Bounded(double v)
      : value(v),
        error(std::isfinite(v) && static_cast<double>(static_cast<float>(v)) != v ? std::abs(v)
                                                                                  : 0) {}
  Bounded(double v, double e) : value(v), error(e) {}

  friend Bounded operator+(const Bounded& a, const Bounded& b) {
    const double v = a.value + b.value;
    return {v, a.error + b.error + std::abs(v)};
  }
  friend Bounded operator-(const Bounded& a, const Bounded& b) { return a + -b; }
  friend Bounded operator*(const Bounded& a, const Bounded& b) {
    const double v = a.value * b.value;
    return {v, std::abs(a.value) * b.error + std::abs(b.value) * a.error + std::abs(v)};
  }
  friend Bounded operator/(const Bounded& a, const Bounded& b) {
    const double v = a.value / b.value;
    return {v, (a.error + std::abs(v) * b.error) / std::abs(b.value) + std::abs(v)};
  }
  friend Bounded operator-(const Bounded& a) { return {-a.value, a.error}; }
  Bounded& operator+=(const Bounded& b) { return *this = *this + b; }
  Bounded& operator-=(const Bounded& b) { return *this = *this - b; }
  Bounded& operator*=(const Bounded& b) { return *this = *this * b; }
  Bounded& operator/=(const Bounded& b) { return *this = *this / b; }

  friend bool operator<(const Bounded& a, const Bounded& b) { return a.value < b.value; }
  friend bool operator>(const Bounded& a, const Bounded& b) { return a.value > b.value; }
  friend bool operator<=(const Bounded& a, const Bounded& b) { return a.value <= b.value; }
  friend bool operator>=(const Bounded& a, const Bounded& b) { return a.value >= b.value; }
  friend bool operator==(const Bounded& a, const Bounded& b) { return a.value == b.value; }
};

inline Bounded function(const Bounded& x, double value, double derivative) {
  const double passed = x.error == 0 ? 0 : std::abs(derivative) * x.error;
  return {value, passed + 6 * std::abs(value)};
}

inline Bounded constant(const Bounded& x) { return x; }
inline Bounded exp(const Bounded& x) {
  const double y = std::exp(x.value);
  return function(x, y, y);
}
inline Bounded expm1(const Bounded& x) {
  return function(x, std::expm1(x.value), std::exp(x.value));
}
inline Bounded log(const Bounded& x) { return function(x, std::log(x.value), 1 / x.value); }
inline Bounded log1p(const Bounded& x) {
  return function(x, std::log1p(x.value), 1 / (1 + x.value));
}
inline Bounded sqrt(const Bounded& x) {
  const double y = std::sqrt(x.value);
  return function(x, y, 0.5 / y);
}
inline Bounded sin(const Bounded& x) { return function(x, std::sin(x.value), std::cos(x.value)); }
inline Bounded cos(const Bounded& x) { return function(x, std::cos(x.value), std::sin(x.value)); }
inline Bounded tanh(const Bounded& x) {
  const double y = std::tanh(x.value);
  return function(x, y, 1 - y * y);
}
inline Bounded erf(const Bounded& x) {
  const double slope = 2 / std::sqrt(std::numbers::pi) * std::exp(-x.value * x.value);
  return function(x, std::erf(x.value), slope);
}
inline Bounded pow(const Bounded& x, double exponent) {
  const double slope = exponent == 0 ? 0 : exponent * std::pow(x.value, exponent - 1);
  return function(x, std::pow(x.value, exponent), slope);
}
inline Bounded pow(const Bounded& x, const Bounded& exponent) {
  const double y = std::pow(x.value, exponent.value);
  const double passed = std::abs(std::log(x.value)) * exponent.error;
  return function(x, y, y * exponent.value / x.value) + Bounded(0, y * passed);
}
inline Bounded abs(const Bounded& x) { return x < 0.0 ? -x : x; }
inline Bounded floor(const Bounded& x) { return std::floor(x.value); }
inline Bounded nearest_even(const Bounded& x) { return std::nearbyint(x.value); }
inline Bounded max(const Bounded& a, const Bounded& b) { return a < b ? b : a; }
inline Bounded min(const Bounded& a, const Bounded& b) { return b < a ? b : a; }

}  // namespace gradus::testing::math
