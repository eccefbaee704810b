// Elementary functions of double with the same bits on every platform.
//
// Results do not depend on the C library, compiler, optimization level or instruction set, because
// math64.cpp uses only +, −, ×, ÷ and √ in a fixed order. IEEE 754 rounds each in one way.
//
// NaN, and arguments outside the domain, yield the quiet NaN of std::numeric_limits; exceptions are
// pow(NaN, 0) = pow(1, NaN) = 1. Results below 2⁻¹⁰⁷⁴ are 0, those above the largest double ∞.
//
// Errors are the largest measured, in ulp, compared with 113-bit arithmetic at 12 million points
// per function. √ is exact: use std::sqrt.
#pragma once

namespace gradus::math64 {

/// Returns eˣ. Error: 0.51, or 0.76 if the result is denormal. exp(0) = 1.
double exp(double x);

/// Returns eˣ − 1 without cancellation near 0. Error: 0.51. Keeps −0.
double expm1(double x);

/// Returns the natural logarithm: −∞ at ±0, NaN below. Error: 0.52. log(1) = 0.
double log(double x);

/// Returns ln(1 + x) without cancellation near 0: −∞ at −1, NaN below. Error: 0.52. Keeps −0.
double log1p(double x);

/// Returns the hyperbolic tangent. Error: 0.51. tanh(−x) = −tanh(x).
double tanh(double x);

/// Returns 2/√π ∫₀ˣ exp(−t²) dt. Error: 1.2. erf(−x) = −erf(x).
double erf(double x);

/// Returns 1 − erf(x) without cancellation for large x. Error: 1.2.
double erfc(double x);

/// Returns the sine of x radians, for x of any size: NaN at ±∞. Error: 0.82. sin(−x) = −sin(x).
double sin(double x);

/// Returns the cosine of x radians, for x of any size: NaN at ±∞. Error: 0.83. cos(−x) = cos(x).
double cos(double x);

/// Returns xʸ, with the special values of C99: pow(x, 0) = 1, NaN if x < 0 and y is not an integer.
/// Error: 0.51, or 0.76 if the result is denormal; 0.5 for y = 2, 1, ½ and −1.
double pow(double x, double y);

}  // namespace gradus::math64
