// Dual numbers: a value and its derivative along one direction.
//
// A template over T computes f(x) for double, its directional derivative for Dual<double>, and
// ∂²f/∂u∂v for Dual<Dual<double>>. Dual<Bounded> also bounds the rounding error.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gradus::testing::math {

inline double exp(double x) { return std::exp(x); }
inline double expm1(double x) { return std::expm1(x); }
inline double log(double x) { return std::log(x); }
inline double log1p(double x) { return std::log1p(x); }
inline double sqrt(double x) { return std::sqrt(x); }
inline double sin(double x) { return std::sin(x); }
inline double cos(double x) { return std::cos(x); }
inline double tanh(double x) { return std::tanh(x); }
inline double erf(double x) { return std::erf(x); }
inline double abs(double x) { return std::abs(x); }
inline double floor(double x) { return std::floor(x); }
inline double nearest_even(double x) { return std::nearbyint(x); }
inline double pow(double x, double exponent) { return std::pow(x, exponent); }
inline double max(double a, double b) { return std::max(a, b); }
inline double min(double a, double b) { return std::min(a, b); }

template <class T>
struct Dual {
  T value{}, tangent{};

  Dual() = default;
  Dual(double constant) : value(constant) {}  // implicit, to mix constants with T
  Dual(T v, T t) : value(v), tangent(t) {}

  friend Dual operator+(const Dual& a, const Dual& b) {
    return {a.value + b.value, a.tangent + b.tangent};
  }
  friend Dual operator-(const Dual& a, const Dual& b) {
    return {a.value - b.value, a.tangent - b.tangent};
  }
  friend Dual operator*(const Dual& a, const Dual& b) {
    return {a.value * b.value, a.tangent * b.value + a.value * b.tangent};
  }
  friend Dual operator/(const Dual& a, const Dual& b) {
    const T quotient = a.value / b.value;
    return {quotient, (a.tangent - quotient * b.tangent) / b.value};
  }
  friend Dual operator-(const Dual& a) { return {-a.value, -a.tangent}; }
  Dual& operator+=(const Dual& b) { return *this = *this + b; }
  Dual& operator-=(const Dual& b) { return *this = *this - b; }
  Dual& operator*=(const Dual& b) { return *this = *this * b; }
  Dual& operator/=(const Dual& b) { return *this = *this / b; }

  friend bool operator<(const Dual& a, const Dual& b) { return a.value < b.value; }
  friend bool operator>(const Dual& a, const Dual& b) { return a.value > b.value; }
  friend bool operator<=(const Dual& a, const Dual& b) { return a.value <= b.value; }
  friend bool operator>=(const Dual& a, const Dual& b) { return a.value >= b.value; }
  friend bool operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
};

/// Returns x as a constant, at which the gradient stops.
inline double constant(double x) { return x; }
template <class T>
Dual<T> constant(const Dual<T>& x) {
  return {constant(x.value), T(0.0)};
}

template <class T>
Dual<T> exp(const Dual<T>& x) {
  const T y = exp(x.value);
  return {y, y * x.tangent};
}

template <class T>
Dual<T> expm1(const Dual<T>& x) {
  return {expm1(x.value), exp(x.value) * x.tangent};
}

template <class T>
Dual<T> log(const Dual<T>& x) {
  return {log(x.value), x.tangent / x.value};
}

template <class T>
Dual<T> log1p(const Dual<T>& x) {
  return {log1p(x.value), x.tangent / (1.0 + x.value)};
}

template <class T>
Dual<T> sqrt(const Dual<T>& x) {
  const T y = sqrt(x.value);
  return {y, x.tangent / (2.0 * y)};
}

template <class T>
Dual<T> sin(const Dual<T>& x) {
  return {sin(x.value), cos(x.value) * x.tangent};
}

template <class T>
Dual<T> cos(const Dual<T>& x) {
  return {cos(x.value), -(sin(x.value) * x.tangent)};
}

template <class T>
Dual<T> tanh(const Dual<T>& x) {
  const T y = tanh(x.value);
  return {y, (1.0 - y * y) * x.tangent};
}

template <class T>
Dual<T> erf(const Dual<T>& x) {
  const T slope = 2 / std::sqrt(std::numbers::pi) * exp(-(x.value * x.value));
  return {erf(x.value), slope * x.tangent};
}

template <class T>
Dual<T> abs(const Dual<T>& x) {
  return x < 0.0 ? -x : x;
}

template <class T>
Dual<T> floor(const Dual<T>& x) {
  return {floor(x.value), T(0.0)};
}

template <class T>
Dual<T> nearest_even(const Dual<T>& x) {
  return {nearest_even(x.value), T(0.0)};
}

template <class T>
Dual<T> pow(const Dual<T>& x, double exponent) {
  if (exponent == 0) return 1.0;
  return {pow(x.value, exponent), exponent * pow(x.value, exponent - 1) * x.tangent};
}

template <class T>
Dual<T> pow(const Dual<T>& x, const Dual<T>& exponent) {  // x > 0
  const T y = pow(x.value, exponent.value);
  return {y, y * (exponent.tangent * log(x.value) + exponent.value * x.tangent / x.value)};
}

template <class T>
Dual<T> max(const Dual<T>& a, const Dual<T>& b) {
  return a < b ? b : a;
}

template <class T>
Dual<T> min(const Dual<T>& a, const Dual<T>& b) {
  return b < a ? b : a;
}

}  // namespace gradus::testing::math
