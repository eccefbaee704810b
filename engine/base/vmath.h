// Vectorizable math functions for float and double: exp, log, tanh, erf and activation functions.
//
// The float functions are branch-free C++ that g++ and clang vectorize with -O3 -fno-math-errno
// -fno-trapping-math; without these flags they are correct but slow. The double functions call
// math64 (math64.h), as do sin, cos and pow of float. NaN yields NaN, and ±∞ yields the limit
// (gelu(-∞) = 0). Maximum measured errors of float in ulp: exp 1.1, expm1 1.7, log 1.0, log1p 1.5,
// tanh 2.1, erf 1.6, sigmoid 2.1; the others 3, or 1e-7 max(1, |x|) if larger. Compiled with
// -ffp-contract=off, as the library is, they give the same bits with every instruction set.
//
// Coefficients: minimax fits of the relative error (reweighted least squares on 800 Chebyshev
// nodes, values with 40 digits). Selects come last, because g++ adds a second code path for a clamp
// at the start.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "gradus/engine/base/bit_cast.h"
#include "gradus/engine/base/math64.h"
#include "gradus/engine/base/simd.h"

namespace gradus::vmath {

namespace detail {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// highest · xᵏ + … + lowest, by Horner's rule.
template <class... Lower>
GRADUS_INLINE float polynomial(float x, float highest, Lower... lower) {
  ((highest = highest * x + lower), ...);
  return highest;
}

/// 2ⁿ for -126 ≤ n ≤ 127; otherwise arbitrary.
GRADUS_INLINE float power_of_two(std::int32_t n) {
  return bit_cast<float>((static_cast<std::uint32_t>(n) + 127u) << 23);
}

/// eˣ = 2ⁿ (1 + q), |q| < 0.42, for |x| < 1000; otherwise arbitrary. q is NaN if x is NaN.
struct Exponential {
  float q;
  std::int32_t n;
};

GRADUS_INLINE Exponential reduce(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 · 2²³: the sum's low bits are the nearest integer
  const float shifted = x * 1.44269504f + kRound;
  const float n = shifted - kRound;
  // ln 2 in two parts; the product of n and the first part is exact.
  const float r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
  // (eʳ - 1 - r) / r², |r| ≤ ln 2 / 2. Fit error: 1.4e-8 of eʳ - 1.
  const float p =
      polynomial(r, 0.00138706958f, 0.00836627185f, 0.0416674353f, 0.166665465f, 0.49999997f);
  const auto bits = bit_cast<std::uint32_t>(shifted) - bit_cast<std::uint32_t>(kRound);
  return {p * (r * r) + r, static_cast<std::int32_t>(bits)};
}

/// e⁻ᵃ for a ≥ 0, or 0 where that is denormal. Cheaper than exp.
GRADUS_INLINE float decay(float a) {
  const auto [q, n] = reduce(-a);
  const float y = (1.0f + q) * power_of_two(n);
  return a > 87.3365f ? 0.0f : y;
}
GRADUS_INLINE double decay(double a) { return math64::exp(-a); }

}  // namespace detail

/// Underflows gradually: denormal below -87.33, 0 below -103.97; ∞ above 88.72.
GRADUS_INLINE float exp(float x) {
  const auto [q, n] = detail::reduce(x);
  const std::int32_t half = n >> 1;  // two factors, since 2⁻¹⁵⁰ and 2¹²⁸ are not floats
  // Uses 0 rather than an underflowing product, which is slow on many processors.
  const float rest = n < -150 ? 0.0f : detail::power_of_two(n - half);
  const float y = (1.0f + q) * detail::power_of_two(half) * rest;
  const float bounded = x > 88.8f ? detail::kInfinity : y;
  return x < -103.98f ? 0.0f : bounded;
}

/// eˣ - 1 without cancellation near 0.
GRADUS_INLINE float expm1(float x) {
  const auto [q, n] = detail::reduce(x);
  const float half = detail::power_of_two(n - 1);  // 2ⁿ would overflow for the largest x
  const float y = 2.0f * (half * q + (half - 0.5f));
  const float bounded = x > 88.8f ? detail::kInfinity : (x < -20.0f ? -1.0f : y);
  return std::abs(x) < 1e-8f ? x : bounded;  // keeps -0, and denormals, which halving would round
}

/// -∞ at 0, NaN below 0.
GRADUS_INLINE float log(float x) {
  const bool tiny = x < std::numeric_limits<float>::min();
  const auto bits = bit_cast<std::uint32_t>(tiny ? x * 8388608.0f : x);  // denormals: 2²³x
  const std::int32_t e = static_cast<std::int32_t>(bits - 0x3f3504f3u) >> 23;  // 2ᵉ m, √½ ≤ m < √2
  const float f = bit_cast<float>(bits - (static_cast<std::uint32_t>(e) << 23)) - 1.0f;
  const auto n = static_cast<float>(tiny ? e - 23 : e);
  // (ln(1 + f) - f + f²/2) / f³. Fit error: 5.9e-9 of ln(1 + f).
  const float p = detail::polynomial(f, -0.0763643533f, 0.127622157f, -0.131596103f, 0.1420158f,
                                     -0.166234091f, 0.200012416f, -0.250008196f, 0.333333313f);
  const float f2 = f * f;
  const float tail = (p * f) * f2 + (n * 1.42860677e-6f - 0.5f * f2);
  const float y = n * 0.693145752f + (f + tail);
  const float positive = x < detail::kInfinity ? y : x;
  const float other = x == 0.0f ? -detail::kInfinity : std::numeric_limits<float>::quiet_NaN();
  return x > 0.0f ? positive : other;
}

/// ln(1 + x) without cancellation near 0.
GRADUS_INLINE float log1p(float x) {
  const float u = 1.0f + x;
  const float lost = x - (u - 1.0f);  // rounding error of u: ln(u + lost) ≈ ln u + lost / u
  const float y = log(u);
  const float corrected = (u > 0.0f && u < detail::kInfinity) ? y + lost / u : y;
  return x == 0.0f ? x : corrected;  // keeps the sign of -0
}

GRADUS_INLINE float tanh(float x) {
  const float a = std::abs(x);
  const auto [q, n] = detail::reduce(2.0f * a);
  const float scale = detail::power_of_two(n - 1);
  const float h = scale * q + (scale - 0.5f);  // (e²ᵃ - 1) / 2
  const float t = h / (1.0f + h);
  const float inner = a < 0.3f ? h - h * t : t;       // same value, without rounding 1 + h
  return std::copysign(a > 10.0f ? 1.0f : inner, x);  // 1 - tanh 10 = 4e-9
}

GRADUS_INLINE float erf(float x) {
  const float a = std::abs(x);
  // erf x / x - 1 for |x| ≤ 1.125. Fit error: 6.4e-9 of erf x.
  const float s = detail::polynomial(x * x, 7.06350693e-05f, -0.00077657972f, 0.00516025908f,
                                     -0.0268392228f, 0.112832561f, -0.376126021f, 0.128379166f);
  // 1 - erf a for 1.125 ≤ a ≤ 3.93. Fit error: 2.8e-8. Beyond, erf is 1.
  const float c = detail::polynomial(
      a - 2.5f, 9.0985468e-06f, -2.09038662e-05f, -6.18281483e-05f, 0.000278266729f,
      -0.00028645774f, -0.000569321157f, 0.00281797349f, -0.00610399107f, 0.00861546397f,
      -0.00835302565f, 0.00544662215f, -0.00217809645f, 0.000406932522f);
  const float outer = a > 3.93f ? 1.0f : 1.0f - c;
  return a < 1.125f ? x * s + x : std::copysign(outer, x);
}

GRADUS_INLINE double exp(double x) { return math64::exp(x); }
GRADUS_INLINE double expm1(double x) { return math64::expm1(x); }
GRADUS_INLINE double log(double x) { return math64::log(x); }
GRADUS_INLINE double log1p(double x) { return math64::log1p(x); }
GRADUS_INLINE double tanh(double x) { return math64::tanh(x); }
GRADUS_INLINE double erf(double x) { return math64::erf(x); }

GRADUS_INLINE float sin(float x) { return static_cast<float>(math64::sin(x)); }
GRADUS_INLINE float cos(float x) { return static_cast<float>(math64::cos(x)); }
GRADUS_INLINE float pow(float x, float y) { return static_cast<float>(math64::pow(x, y)); }
GRADUS_INLINE double sin(double x) { return math64::sin(x); }
GRADUS_INLINE double cos(double x) { return math64::cos(x); }
GRADUS_INLINE double pow(double x, double y) { return math64::pow(x, y); }

namespace detail {

template <class T>
struct Sigmoid {
  T value, slope;
};

/// sigmoid(x) and its derivative, from e = e^-|x| ≤ 1. Does not overflow; accurate in both tails.
template <class T>
GRADUS_INLINE Sigmoid<T> sigmoid_with_slope(T x) {
  const T e = decay(std::abs(x));
  const T t = e / (T(1) + e);  // sigmoid(-|x|)
  const T q = T(1) - t;        // sigmoid(|x|)
  return {x < T(0) ? t : q, t * q};
}

}  // namespace detail

/// 1 / (1 + e⁻ˣ), or 0 where that is denormal.
template <class T>
GRADUS_INLINE T sigmoid(T x) {
  const T e = detail::decay(std::abs(x));
  const T t = e / (T(1) + e);
  const T q = T(1) - t;
  const T low = e < T(0.25) ? e * q : t;  // same value; each form rounds less in its range
  return x < T(0) ? low : q;
}

// Beyond these bounds, the factor that tends to 0 is set to 0, because ∞ · 0 would be NaN.
inline constexpr int kSiluEnd = 800, kGeluEnd = 40;

/// x · sigmoid(x) (Elfwing et al. 2017; also called swish).
template <class T>
GRADUS_INLINE T silu(T x) {
  return x < T(-kSiluEnd) ? T(0) : x * sigmoid(x);
}

template <class T>
GRADUS_INLINE T silu_derivative(T x) {
  const auto [s, ds] = detail::sigmoid_with_slope(x);
  return s + (std::abs(x) > T(kSiluEnd) ? T(0) : x * ds);
}

/// x/2 · (1 + tanh u) = x sigmoid(2u), 2u = √(8/π) (x + 0.044715 x³) (Hendrycks, Gimpel 2016).
template <class T>
GRADUS_INLINE T gelu_tanh(T x) {
  const T twice_u = x * (T(1.5957691216057308) + T(0.07135481627260025) * (x * x));
  return x < T(-kGeluEnd) ? T(0) : x * detail::sigmoid_with_slope(twice_u).value;
}

template <class T>
GRADUS_INLINE T gelu_tanh_derivative(T x) {
  const T twice_u = x * (T(1.5957691216057308) + T(0.07135481627260025) * (x * x));
  const T twice_du = T(1.5957691216057308) + T(0.21406444881780074) * (x * x);
  const auto [s, ds] = detail::sigmoid_with_slope(twice_u);
  return s + (std::abs(x) > T(kGeluEnd) ? T(0) : x * ds * twice_du);
}

/// x Φ(x) = x/2 · (1 + erf(x/√2)).
template <class T>
GRADUS_INLINE T gelu_erf(T x) {
  return x < T(-kGeluEnd) ? T(0) : T(0.5) * x * (T(1) + erf(x * T(0.7071067811865476)));
}

/// Φ(x) + x φ(x).
template <class T>
GRADUS_INLINE T gelu_erf_derivative(T x) {
  const T density = T(0.3989422804014327) * detail::decay(T(0.5) * (x * x));
  const T probability = T(0.5) * (T(1) + erf(x * T(0.7071067811865476)));
  return probability + (std::abs(x) > T(kGeluEnd) ? T(0) : x * density);
}

// Reductions. The order depends only on n: 32 running values of type float, or 16 of type double,
// are folded in halves at the end. A sum has a rounding depth of n/32 + 5.

/// Returns combine(f(0), … f(n-1)), or `nothing` if n is 0.
template <class T, class F, class Combine>
GRADUS_INLINE T fold_of(std::int64_t n, T nothing, F f, Combine combine) {
  constexpr std::int64_t N = sizeof(T) == 4 ? 32 : 16, kFew = 8;
  if (n <= kFew) {
    for (std::int64_t j = 0; j < n; ++j) nothing = combine(nothing, f(j));
    return nothing;
  }
  T lane[N];
  for (std::int64_t j = 0; j < N; ++j) lane[j] = nothing;
  std::int64_t i = 0;
  for (; i + N <= n; i += N) {
    for (std::int64_t j = 0; j < N; ++j) lane[j] = combine(lane[j], f(i + j));
  }
  for (std::int64_t j = 0; i + j < n; ++j) lane[j] = combine(lane[j], f(i + j));
  for (std::int64_t width = N / 2; width > 0; width /= 2) {
    for (std::int64_t j = 0; j < width; ++j) lane[j] = combine(lane[j], lane[j + width]);
  }
  return lane[0];
}

/// f(0) + … + f(n-1).
template <class T, class F>
GRADUS_INLINE T sum_of(std::int64_t n, F f) {
  return fold_of<T>(n, T(0), f, [](T a, T b) { return a + b; });
}

template <class T>
GRADUS_INLINE T sum(const T* x, std::int64_t n) {
  return sum_of<T>(n, [=](std::int64_t i) { return x[i]; });
}

template <class T>
GRADUS_INLINE T sum_squares(const T* x, std::int64_t n) {
  return sum_of<T>(n, [=](std::int64_t i) { return x[i] * x[i]; });
}

template <class T>
GRADUS_INLINE T dot(const T* x, const T* y, std::int64_t n) {
  return sum_of<T>(n, [=](std::int64_t i) { return x[i] * y[i]; });
}

/// Returns the maximum of n values: -∞ if n is 0, NaN if any value is NaN.
template <class T>
GRADUS_INLINE T max(const T* x, std::int64_t n) {
  const auto value = [=](std::int64_t i) { return x[i]; };
  const auto larger = [](T a, T b) { return (b > a || b != b) ? b : a; };  // b > NaN is false
  return fold_of<T>(n, -std::numeric_limits<T>::infinity(), value, larger);
}

}  // namespace gradus::vmath
