// Elementary functions of double from +, −, ×, ÷ and √, in a fixed order.
//
//   eˣ        = 2ᵏ 2^(j/128) eʳ, |r| ≤ ln 2 / 256, with the Taylor series of eʳ (Tang 1989)
//   ln x      = e ln 2 − ln c + ln(1 + f), x = 2ᵉ m, f = c m − 1, c ≈ 1/m (Tang 1990)
//   xʸ        = e^(y ln x)
//   tanh x    = t / (t + 2), t = e²ˣ − 1
//   sin, cos    of x − n π/2, with π/2 in four parts (Cody, Waite 1980); for large x, from the bits
//               of 2/π that matter (Payne, Hanek 1983)
//   erfc x    = e^(−x²) g(z) / (1 + 2x), z = (x − 3.75) / (x + 3.75) (Shepherd, Laframboise 1981)
//
// A fused multiply-add would change bits, so GradusLibrary.cmake passes -ffp-contract=off. Where
// one double is not accurate enough, a value is a sum of two: a Pair.
//
// Tables are computed at compile time. Other coefficients are minimax fits of the function's
// relative error (Remez exchange with 60 digits).
#include "gradus/engine/base/math64.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "gradus/engine/base/bit_cast.h"
#include "gradus/engine/base/simd.h"

namespace gradus::math64 {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// hi + lo, where lo is at most a rounding error of hi.
struct Pair {
  double hi, lo = 0;
};

/// a + b exactly, if |a| ≥ |b|, or if a is a multiple of ulp(b) (Dekker 1971).
constexpr Pair quick_sum(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}

/// a + b exactly (Knuth 1969).
constexpr Pair sum(double a, double b) {
  const double s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}

/// The upper 26 bits of x. Products of two such heads are exact.
constexpr double head(double x) {
  return bit_cast<double>(bit_cast<std::uint64_t>(x) & ~std::uint64_t{0x7ffffff});
}

/// a · b with a relative error of 2⁻¹⁰⁶ (Dekker 1971).
constexpr Pair product(double a, double b) {
  const double p = a * b, a1 = head(a), b1 = head(b), a2 = a - a1, b2 = b - b1;
  return {p, (((a1 * b1 - p) + a1 * b2) + a2 * b1) + a2 * b2};
}

constexpr Pair product(Pair a, Pair b) {
  const Pair p = product(a.hi, b.hi);
  return quick_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

constexpr Pair quotient(Pair a, Pair b) {
  const double q = a.hi / b.hi;
  const Pair p = product(q, b.hi);
  return quick_sum(q, (((a.hi - p.hi) - p.lo) + (a.lo - q * b.lo)) / b.hi);
}

/// a[0] xⁿ⁻¹ + … + a[n − 1]: Horner's rule in x², with pairs a[i] x + a[i + 1] as coefficients.
template <std::size_t N>
GRADUS_INLINE double polynomial(double x, const double (&a)[N]) {
  const double x2 = x * x;
  double y = N % 2 == 1 ? a[0] : a[0] * x + a[1];
  for (std::size_t i = 2 - N % 2; i < N; i += 2) y = y * x2 + (a[i] * x + a[i + 1]);
  return y;
}

/// 2ⁿ for −1022 ≤ n ≤ 1023.
constexpr double power_of_two(int n) {
  return bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
}

constexpr Pair kLn2{0x1.62e42fef8p-1, 0x1.1cf79abc9e3b4p-36};  // hi has 35 bits
constexpr double kShift = 0x1.8p52;  // the low bits of x + kShift are the nearest integer to x

constexpr int kSteps = 128;

/// 2^(j/128) for 0 ≤ j < 128.
constexpr std::array<Pair, kSteps> make_powers() {
  std::array<Pair, kSteps> powers{};
  Pair power{1};
  for (Pair& p : powers) {
    p = power;
    power = product(power, {0x1.0163da9fb3335p+0, 0x1.b61299ab8cdb7p-54});  // 2^(1/128)
  }
  return powers;
}

constexpr std::array<Pair, kSteps> kPowers = make_powers();

/// x = (128 k + j) ln 2 / 128 + r + s, where t + u = 2^(j/128), |r| ≤ 0.0028 and |s| ≤ ulp(r).
struct Exponent {
  double t, u, r, s;
  int k;
};

GRADUS_INLINE Exponent reduce(Pair x) {
  const double shifted = x.hi * (kSteps * 1.4426950408889634) + kShift;
  const double n = shifted - kShift;
  const auto index = static_cast<int>(static_cast<std::int64_t>(bit_cast<std::uint64_t>(shifted) -
                                                                bit_cast<std::uint64_t>(kShift)));
  const Pair power = kPowers[static_cast<std::size_t>(index & (kSteps - 1))];
  const auto [r, s] = quick_sum(x.hi - n * (kLn2.hi / kSteps), x.lo - n * (kLn2.lo / kSteps));
  return {power.hi, power.lo, r, s, index >> 7};
}

/// eʳ − 1 − r. The next term of the series is below 2⁻⁷¹.
double taylor(double r) {
  return r * r * polynomial(r, {1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2});
}

/// 2ᵏ y, rounded once. |k| ≤ 2000.
double scale(double y, int k) { return y * power_of_two(k / 2) * power_of_two(k - k / 2); }

GRADUS_INLINE double exp(Pair x) {
  if (x.hi > 710) return kInfinity;
  if (x.hi < -746) return 0;
  const auto [t, u, r, s, k] = reduce(x);
  return scale(t + (u + t * (r + (s + taylor(r)))), k);
}

/// eˣ − 1 for −40 < x < 60, with a relative error of about 2⁻⁶⁰.
Pair expm1_pair(double x) {
  const auto [t, u, r, s, k] = reduce({x});
  const double power = power_of_two(k), q = s + taylor(r);
  const auto [d, e] = sum(t * power, -1);  // 2ᵏ 2^(j/128) − 1
  const auto [h, lost] = quick_sum(d, r);
  const double low = e + u * power;
  return quick_sum(h, lost + (q + (low + (d + low) * (r + q))));
}

struct Center {
  double c, hi, lo;  // c ≈ 1/m with 11 bits; hi + lo = −ln c, hi is a multiple of 2⁻³⁵
};

// Bits of the smallest m. The interval around 1 reaches from 1 − 2⁻⁹ to 1 + 2⁻⁸, with c = 1.
constexpr std::uint64_t kFirst = 0x3fe6100000000000;

/// −ln c = 2 (s + s³/3 + s⁵/5 + …), s = (1 − c) / (1 + c).
constexpr Pair minus_log(double c) {
  const Pair s = quotient({1 - c}, {1 + c}), s2 = product(s, s);
  Pair y{0};
  for (int k = 45; k > 0; k -= 2) {
    const Pair term = quotient({1}, {static_cast<double>(k)}), next = product(y, s2);
    const Pair total = quick_sum(term.hi, next.hi);
    y = quick_sum(total.hi, total.lo + (term.lo + next.lo));
  }
  return product(y, {2 * s.hi, 2 * s.lo});
}

constexpr std::array<Center, kSteps> make_centers() {
  std::array<Center, kSteps> centers{};
  std::uint64_t middle = kFirst + (std::uint64_t{1} << 44);
  for (Center& center : centers) {
    const double c = ((1 / bit_cast<double>(middle) + 0x1p42) - 0x1p42);  // a multiple of 2⁻¹⁰
    const Pair log = minus_log(c);
    const double hi = (log.hi + 0x1.8p17) - 0x1.8p17;
    center = {c, hi, (log.hi - hi) + log.lo};
    middle += std::uint64_t{1} << 45;
  }
  return centers;
}

constexpr std::array<Center, kSteps> kCenters = make_centers();

/// x = 2ᵉ m and c m − 1 = f1 + f2, both products exact. f1 has 26 bits, |f1| < 0.0047. Then
/// ln x = (e ln 2 − ln c) + ln(1 + f1 + f2).
struct Logarithm {
  double hi, lo, f1, f2, c;  // hi + lo = e ln 2 − ln c
  int e;
};

GRADUS_INLINE Logarithm reduce_logarithm(double x) {
  const bool tiny = x < std::numeric_limits<double>::min();
  const auto bits = bit_cast<std::uint64_t>(tiny ? x * 0x1p54 : x), above = bits - kFirst;
  const int e = static_cast<int>(static_cast<std::int64_t>(above) >> 52) - (tiny ? 54 : 0);
  const auto [c, hi, lo] = kCenters[static_cast<std::size_t>((above >> 45) % kSteps)];
  const std::uint64_t mantissa = bits - (above & (std::uint64_t{0xfff} << 52));
  const auto m = bit_cast<double>(mantissa);
  const auto m1 = bit_cast<double>((mantissa + 0x10000000) & ~std::uint64_t{0x1fffffff});
  return {e * kLn2.hi + hi, e * kLn2.lo + lo, c * m1 - 1, c * (m - m1), c, e};
}

/// ln x, with ln(1 + f) = f − f²/2 + f³/3 − …. The next term is f⁸/8.
double log(const Logarithm& x) {
  const auto [f, g] = quick_sum(x.f1, x.f2);
  const auto [y, lost] = quick_sum(x.hi, f);
  const double p = polynomial(f, {1.0 / 7, -1.0 / 6, 1.0 / 5, -1.0 / 4, 1.0 / 3, -1.0 / 2});
  return y + (lost + (x.lo + (g + f * f * p)));
}

/// ln x with a relative error of about 2⁻⁶⁵. f²/2 = f1²/2 + f2 (f1 + f)/2, and f1² is exact.
GRADUS_INLINE Pair log_pair(const Logarithm& x) {
  const auto [f, g] = quick_sum(x.f1, x.f2);
  const double p = polynomial(f, {-1.0 / 8, 1.0 / 7, -1.0 / 6, 1.0 / 5, -1.0 / 4, 1.0 / 3});
  const Pair a = quick_sum(x.hi, f);
  const Pair b = quick_sum(a.hi, -0.5 * x.f1 * x.f1);
  const double lo = x.lo + (g + (f * f * f * p - 0.5 * x.f2 * (x.f1 + f)));
  return quick_sum(b.hi, b.lo + (a.lo + lo));
}

/// x = n π/2 + r + s, with n modulo 4.
struct Angle {
  double r, s;
  unsigned n;
};

/// Cody, Waite, for |x| ≤ 2²⁰. The products with the first three parts are exact.
Angle reduce_medium(double x) {
  constexpr double part[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69,
                             0x1.b839a252049c1p-104};  // of π/2: 33, 33, 33 and 53 bits
  const double shifted = x * 0.6366197723675814 + kShift;
  const double n = shifted - kShift;
  const Pair a = sum(x - n * part[0], -n * part[1]);
  const Pair b = sum(a.hi, -n * part[2]);
  const Pair r = quick_sum(b.hi, a.lo + (b.lo - n * part[3]));
  return {r.hi, r.lo, static_cast<unsigned>(bit_cast<std::uint64_t>(shifted))};
}

/// Payne, Hanek, for x ≥ 2²⁰. Multiplies by the bits of 2/π that affect x · 2/π modulo 4.
Angle reduce_large(double x) {
  constexpr std::uint32_t bits_of_2_over_pi[] = {
      0,          0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599,
      0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c,
      0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639,
      0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f,
      0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7,
      0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046};
  const auto bits = bit_cast<std::uint64_t>(x);
  const int e = static_cast<int>(bits >> 52) - 1075;  // x = 2ᵉ M, with an integer M < 2⁵³
  const std::uint64_t M = (bits & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1} << 52);
  const std::uint64_t factors[] = {M & 0xffffffff, M >> 32};
  // p = M · 192 bits of 2/π, modulo 2¹⁹². Then x · 2/π = p · 2⁻¹⁹⁰ modulo 4.
  const int first = e + 62, shift = first % 32;
  std::uint32_t window[6], p[6] = {};
  for (int i = 0; i < 6; ++i) {
    const std::uint32_t* at = bits_of_2_over_pi + first / 32 + i;
    window[i] = static_cast<std::uint32_t>(((std::uint64_t{at[0]} << 32 | at[1]) << shift) >> 32);
  }
  for (int k = 0; k < 2; ++k) {
    std::uint64_t carry = 0;
    for (int i = 5 - k; i >= 0; --i, carry >>= 32) {
      carry += p[i] + window[i + k] * factors[k];
      p[i] = static_cast<std::uint32_t>(carry);
    }
  }
  const auto digit = [&p](int i) { return p[i] << 2 | p[i + 1] >> 30; };
  const Pair top = quick_sum(0x1p-32 * static_cast<std::int32_t>(digit(0)), 0x1p-64 * digit(1));
  const Pair turn = quick_sum(top.hi, top.lo + (0x1p-96 * digit(2) + 0x1p-128 * digit(3)));
  const Pair r = product(turn, {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54});  // π/2
  return {r.hi, r.lo, (p[0] >> 30) + (digit(0) >> 31)};  // rounds to the nearest n
}

/// sin(x + quarters · π/2), for finite x.
double sine(double x, unsigned quarters) {
  Angle angle{x, 0, 0};
  if (std::abs(x) >= 0x1p20) {
    angle = reduce_large(std::abs(x));
    if (x < 0) angle = {-angle.r, -angle.s, 0u - angle.n};
  } else if (std::abs(x) > 0.785) {
    angle = reduce_medium(x);
  }
  const double r = angle.r, s = angle.s, z = r * r;
  const unsigned n = angle.n + quarters;
  double y = 0;
  if (n % 2 == 0) {
    // sin r = r + r³ S(r²). Fit error: 2⁻⁵⁷·⁹.
    const double S =
        polynomial(z, {1.5896188810962236e-10, -2.505074707155916e-08, 2.7557313617119116e-06,
                       -0.000198412698295777, 0.008333333333322104, -0.1666666666666663});
    y = r + (r * z * S + s * (1 - 0.5 * z));
  } else {
    // cos r = 1 − r²/2 + r⁴ C(r²). Fit error: 2⁻⁶⁴.
    const double C =
        polynomial(z, {-1.1359641453320794e-11, 2.0875723154770038e-09, -2.7557314351493223e-07,
                       2.4801587289479392e-05, -0.001388888888887412, 0.0416666666666666});
    const auto [w, lost] = quick_sum(1, -0.5 * z);
    y = w + (lost + (z * z * C - r * s));
  }
  return n % 4 < 2 ? y : -y;
}

/// erfc x = 2ᵏ e (1.21875 + G) / (1 + 2x), for ½ ≤ x ≤ 27.5.
struct Tail {
  Pair e;
  double G;
  int k;
};

GRADUS_INLINE Tail erfc_tail(double x) {
  // g(z) = e^(x²) erfc x (1 + 2x) = 1.21875 + G(z). Fit error: 2⁻⁶²·¹.
  const double z = (x - 3.75) / (x + 3.75);
  const double G =
      polynomial(z, {-3.870269201920423e-09, -2.8232785565294016e-09, 3.709688872501647e-08,
                     2.216151938639962e-08,  -2.578236864668438e-07,  -5.657731782805651e-08,
                     1.75161461933368e-06,   -9.736940333239896e-07,  -1.1444381796652908e-05,
                     2.2384188391570025e-05, 5.164924541408135e-05,   -0.0002901540384998967,
                     0.00029371362070442614, 0.0017556258405398454,   -0.009746579550218371,
                     0.02836227742083954,    -0.05869339859039563,    0.09230432116022935,
                     -0.10880393014171197,   0.08227673849015038,     0.003585415485463741,
                     -0.14024059858554702,   0.01876263083782758});
  const Pair square = product(x, x);
  const auto [t, u, r, s, k] = reduce({-square.hi, -square.lo});
  return {quick_sum(t, u + t * (r + (s + taylor(r)))), G, k};
}

/// erf x − x = x E(x²), for |x| ≤ 1. Fit error: 2⁻⁶²·⁷ of erf x.
double erf_minus_x(double x) {
  const double z = x * x;
  return x * polynomial(z, {5.945263031483805e-11, -1.1365666844002773e-09, 1.4657880107518338e-08,
                            -1.635002526836099e-07, 1.64609728219913e-06, -1.4925593507243188e-05,
                            0.00012055331036916088, -0.0008548326978742698, 0.005223977624780876,
                            -0.026866170645072896, 0.11283791670954857, -0.3761263890318375,
                            0.1283791670955126});
}

}  // namespace

double exp(double x) { return std::isnan(x) ? kNan : exp(Pair{x}); }

double expm1(double x) {
  if (std::isnan(x)) return kNan;
  if (std::abs(x) < 0x1p-54) return x;  // keeps −0
  if (x > 50) return exp(Pair{x});
  return x < -38 ? -1 : expm1_pair(x).hi;
}

double log(double x) {
  if (!(x > 0)) return x == 0 ? -kInfinity : kNan;
  return x < kInfinity ? log(reduce_logarithm(x)) : x;
}

double log1p(double x) {
  if (!(x > -1)) return x == -1 ? -kInfinity : kNan;
  if (std::abs(x) < 0x1p-54) return x;  // keeps −0
  if (x > 0x1p60) return log(x);
  const Pair u = sum(1, x);
  Logarithm reduced = reduce_logarithm(u.hi);
  reduced.f2 += u.lo * power_of_two(-reduced.e) * reduced.c;
  return log(reduced);
}

double tanh(double x) {
  const double a = std::abs(x);
  if (std::isnan(x)) return kNan;
  if (a < 0x1p-28) return x;  // keeps −0
  if (a > 19.5) return std::copysign(1, x);
  const Pair t = expm1_pair(2 * a), below = sum(2, t.hi);  // tanh a = t / (t + 2), t = e²ᵃ − 1
  return std::copysign(quotient(t, {below.hi, below.lo + t.lo}).hi, x);
}

double erf(double x) {
  const double a = std::abs(x);
  if (std::isnan(x)) return kNan;
  if (a <= 1) return x + erf_minus_x(x);
  if (a > 6) return std::copysign(1, x);
  const Tail tail = erfc_tail(a);
  const double y = tail.e.hi * (1.21875 + tail.G) / (1 + 2 * a);
  return std::copysign(1 - y * power_of_two(tail.k), x);
}

double erfc(double x) {
  if (std::isnan(x)) return kNan;
  if (std::abs(x) < 0.5) {
    const double y = erf_minus_x(x);
    return x < 0.25 ? 1 - (x + y) : 0.5 - ((x - 0.5) + y);  // the same value, rounded less
  }
  if (x < 0) return 1 + erf(-x);
  if (x > 27.5) return 0;
  const Tail tail = erfc_tail(x);
  const Pair y = product(tail.e, quick_sum(1.21875, tail.G));
  return scale(quotient(y, quick_sum(2 * x, 1)).hi, tail.k);
}

double sin(double x) {
  if (!(std::abs(x) < kInfinity)) return kNan;
  return std::abs(x) < 0x1p-27 ? x : sine(x, 0);  // keeps −0
}

double cos(double x) { return std::abs(x) < kInfinity ? sine(x, 1) : kNan; }

double pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (std::isnan(x) || std::isnan(y)) return kNan;
  if (y == 1) return x;
  if (y == -1) return 1 / x;
  if (y == 2) return x * x;
  if (y == 0.5 && x >= 0) return std::sqrt(x) + 0.0;  // −0 yields 0
  double sign = 1;
  if (!(x > 0 && x < kInfinity)) {
    const bool large = std::abs(y) >= 0x1p53;  // then y is even
    const auto n = static_cast<std::int64_t>(large ? 0 : y);
    const bool whole = large || static_cast<double>(n) == y;
    if (whole && n % 2 != 0) sign = std::copysign(1, x);
    x = std::abs(x);
    if (x == 0 || x == kInfinity) return sign * ((x == 0) == (y > 0) ? 0 : kInfinity);
    if (!whole) return kNan;
  }
  const double bounded = std::abs(y) < 0x1p64 ? y : std::copysign(0x1p64, y);  // same result
  const Pair log = log_pair(reduce_logarithm(x)), p = product(bounded, log.hi);
  return sign * exp({p.hi, p.lo + bounded * log.lo});
}

}  // namespace gradus::math64
