// Compares math64 with the standard library in long double, and pins the bits of its results.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "gradus/engine/base/bit_cast.h"
#include "gradus/engine/base/math64.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_math64 {

namespace {

using Real = long double;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kDenormal = std::numeric_limits<double>::denorm_min();
constexpr double kSmallest = std::numeric_limits<double>::min();
constexpr double kLargest = std::numeric_limits<double>::max();

struct Function {
  const char* name;
  double (*f)(double);
  Real (*exact)(Real);
  Real ulps;
};

// The bounds are slightly larger than the errors that math64.h lists.
const Function kFunctions[] = {
    {"exp", math64::exp, std::exp, 0.76L},    {"expm1", math64::expm1, std::expm1, 0.52L},
    {"log", math64::log, std::log, 0.53L},    {"log1p", math64::log1p, std::log1p, 0.53L},
    {"tanh", math64::tanh, std::tanh, 0.52L}, {"erf", math64::erf, std::erf, 1.2L},
    {"erfc", math64::erfc, std::erfc, 1.3L},  {"sin", math64::sin, std::sin, 0.85L},
    {"cos", math64::cos, std::cos, 0.85L},
};
constexpr Real kPowUlps = 0.76L;

const Function& find(const std::string& name) {
  return *std::find_if(std::begin(kFunctions), std::end(kFunctions),
                       [&](const Function& f) { return f.name == name; });
}

/// Returns whether y has more digits than a double. This is never true if long double is a double,
/// or if the C library computes its functions in double. musl's have more digits, but expm1(570)
/// has an error of 0.2 units of a double.
bool is_wide(Real y) {
#ifdef __GLIBC__
  return y != static_cast<Real>(static_cast<double>(y));
#else
  static_cast<void>(y);
  return false;
#endif
}

/// Returns 64 pseudo-random bits per call: the same on every platform.
class Bits {
 public:
  std::uint64_t operator()() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ ^ (state_ >> 31);
  }
  /// Returns any double: every exponent is equally likely. May be NaN or infinite.
  double any() { return bit_cast<double>((*this)()); }
  /// Returns a number with 2^low ≤ |x| < 2^high.
  double between(int low, int high) {
    const std::uint64_t bits = (*this)();
    const std::uint64_t spread = (bits >> 52) % static_cast<std::uint64_t>(high - low);
    const std::uint64_t exponent = static_cast<std::uint64_t>(1023 + low) + spread;
    return bit_cast<double>((bits & 0x800fffffffffffffu) | exponent << 52);
  }

 private:
  std::uint64_t state_ = 1;
};

/// Returns |got − want| in units of the spacing of doubles at `want`. Overflow must be ∞.
Real error_in_ulps(double got, Real want) {
  const Real limit = 0x1.fffffffffffff8p1023L;  // this and larger values round to ∞
  if (std::isnan(want)) return std::isnan(got) ? 0 : kInf;
  if (std::isinf(got) || std::abs(want) >= limit)
    return std::abs(want) >= limit && got == std::copysign(kInf, want) ? 0 : kInf;
  int exponent = 0;
  std::frexp(want, &exponent);
  return std::ldexp(std::abs(got - want), -std::max(exponent - 53, -1074));
}

std::vector<double> awkward_points() {
  std::vector<double> x = {0.0, kDenormal, 3 * kDenormal, kSmallest, kLargest, kInf, kNan};
  for (const double limit : {709.782712893384, 745.1332191019412, 36.7368005696771, 37.42994775,
                             19.06154746539849, 5.9215871957945, 26.54325845425098})
    for (const double step : {-1e-9, 0.0, 1e-9}) x.push_back(limit + step);  // ends of ranges
  for (const double limit : {0.25, 0.5, 0.785, 1.0, 1.3789, 6.0, 19.5, 27.5, 0x1p-28, 0x1p-54,
                             0x1p20, 0x1p60, 0x1p53})  // points where the method changes
    for (double y = limit, z = limit; y < limit * (1 + 20 * 0x1p-52);
         y = std::nextafter(y, kInf), z = std::nextafter(z, 0.0))
      x.insert(x.end(), {y, z});
  for (int n = 1; n < 400; ++n) {  // ends of the intervals of exp, and multiples of π/2
    for (const double center : {(n - 0.5) * 0.005415212348514945, n * 1.5707963267948966})
      x.insert(x.end(), {center, std::nextafter(center, 0.0), std::nextafter(center, kInf)});
  }
  for (int n = 1; n < 256; ++n) x.push_back(0.6875 + n / 256.0);  // ends of the intervals of log
  for (int n = 1; n < 60; ++n) x.insert(x.end(), {1 + std::ldexp(1, -n), 1 - std::ldexp(1, -n)});
  // Differs from a multiple of π/2 by at most 4.7e-19.
  x.push_back(std::ldexp(6381956970095103.0, 797));
  for (std::size_t i = 0, n = x.size(); i < n; ++i) x.push_back(-x[i]);
  return x;
}

void check_bound(const Function& f, const std::vector<double>& points) {
  if (!is_wide(f.exact(0.7L))) return;
  Real largest = 0;
  double at = 0;
  for (const double x : points) {
    const Real error = error_in_ulps(f.f(x), f.exact(x));
    if (error > largest) largest = error, at = x;
  }
  INFO(f.name << "(" << at << ") has an error of " << largest << " ulp");
  CHECK(largest <= f.ulps);
}

}  // namespace

TEST_CASE("math64: every function keeps its error bound at random and at awkward points",
          "[once]") {
  Bits bits;
  std::vector<double> x = awkward_points();
  for (int i = 0; i < 20000; ++i) x.insert(x.end(), {bits.any(), bits.between(-8, 10)});
  for (int i = 0; i < 20000; ++i)
    x.insert(x.end(), {bits.between(-60, 1), 1 + bits.between(-50, -1)});
  for (int i = 0; i < 5000; ++i) x.push_back(bits.between(18, 1023));
  for (const Function& f : kFunctions) check_bound(f, x);
}

TEST_CASE("math64: pow keeps its error bound up to overflow, underflow and bases near 1",
          "[once]") {
  if (!is_wide(std::pow(0.7L, 0.7L))) return;
  Bits bits;
  const auto check = [](double x, double y) {
    const Real want = std::pow(static_cast<Real>(x), static_cast<Real>(y));
    const double got = math64::pow(x, y);
    if (error_in_ulps(got, want) <= kPowUlps) return;
    INFO("pow(" << x << ", " << y << ") = " << got << ", not " << want);
    CHECK(false);
  };
  for (int i = 0; i < 20000; ++i) {
    check(std::abs(bits.between(-8, 8)), bits.between(-4, 6));
    check(bits.any(), bits.between(-2, 1));
    const double x = 1 + bits.between(-50, -2), reach = 750 / std::log(x);
    check(x, bits.between(-4, 0) * reach);
    check(bits.between(-10, 10), static_cast<double>(i % 200 - 100));
    check(std::abs(bits.any()), bits.any());
  }
}

TEST_CASE("math64: NaN, infinities, zeros and ends of ranges give the right values", "[once]") {
  struct Special {
    const char* name;
    double x, y;
  };
  const Special specials[] = {
      {"exp", 0, 1},
      {"exp", -0.0, 1},
      {"exp", kDenormal, 1},
      {"exp", kInf, kInf},
      {"exp", -kInf, 0},
      {"exp", 709.79, kInf},
      {"exp", kLargest, kInf},
      {"exp", -745.13, kDenormal},
      {"exp", -745.14, 0},
      {"exp", -kLargest, 0},
      {"expm1", 0, 0},
      {"expm1", -0.0, -0.0},
      {"expm1", kDenormal, kDenormal},
      {"expm1", kInf, kInf},
      {"expm1", 709.79, kInf},
      {"expm1", -kInf, -1},
      {"expm1", -40, -1},
      {"log", 1, 0},
      {"log", 0, -kInf},
      {"log", -0.0, -kInf},
      {"log", kInf, kInf},
      {"log", -kDenormal, kNan},
      {"log", -1, kNan},
      {"log", -kInf, kNan},
      {"log", kDenormal, -744.4400719213812},
      {"log1p", 0, 0},
      {"log1p", -0.0, -0.0},
      {"log1p", kDenormal, kDenormal},
      {"log1p", -1, -kInf},
      {"log1p", kInf, kInf},
      {"log1p", -1.5, kNan},
      {"log1p", -kInf, kNan},
      {"tanh", 0, 0},
      {"tanh", -0.0, -0.0},
      {"tanh", kDenormal, kDenormal},
      {"tanh", kInf, 1},
      {"tanh", -kInf, -1},
      {"tanh", 20, 1},
      {"erf", 0, 0},
      {"erf", -0.0, -0.0},
      {"erf", kInf, 1},
      {"erf", -kInf, -1},
      {"erf", 6.5, 1},
      {"erfc", 0, 1},
      {"erfc", -0.0, 1},
      {"erfc", kInf, 0},
      {"erfc", -kInf, 2},
      {"erfc", 28, 0},
      {"erfc", -7, 2},
      {"sin", 0, 0},
      {"sin", -0.0, -0.0},
      {"sin", kDenormal, kDenormal},
      {"sin", kInf, kNan},
      {"sin", -kInf, kNan},
      {"cos", 0, 1},
      {"cos", -0.0, 1},
      {"cos", kDenormal, 1},
      {"cos", kInf, kNan},
      {"cos", -kInf, kNan},
  };
  for (const Special& special : specials) {
    const double y = find(special.name).f(special.x);
    INFO(special.name << "(" << special.x << ") = " << y << ", not " << special.y);
    CHECK((std::isnan(special.y) ? std::isnan(y) : y == special.y));
    CHECK(std::signbit(y) == std::signbit(special.y));  // NaN has no sign
  }
  for (const Function& f : kFunctions)
    for (const double nan : {kNan, -kNan, std::numeric_limits<double>::signaling_NaN()}) {
      INFO(f.name << " of NaN");
      CHECK(bit_cast<std::uint64_t>(f.f(nan)) == bit_cast<std::uint64_t>(kNan));
    }
}

TEST_CASE("math64: pow follows C99 at zeros, infinities, NaN and negative bases", "[once]") {
  const double values[] = {0.0,  kDenormal, 0.3, 0.5,  1.0,         1.5,      2.0,
                           3.0,  4.0,       7.0, 1e20, 0x1p53 + 2,  kLargest, kInf,
                           kNan, 0x1p-70,   2.5, 63.0, 0x1p53 - 1.0};
  for (const double a : values)
    for (const double b : values)
      for (const double x : {a, -a})
        for (const double y : {b, -b}) {
          const double got = math64::pow(x, y), want = std::pow(x, y);
          INFO("pow(" << x << ", " << y << ") = " << got << ", not " << want);
          CHECK(std::isnan(got) == std::isnan(want));
          if (std::isnan(want)) continue;
          CHECK(std::signbit(got) == std::signbit(want));
          if (want == 0 || std::isinf(want) || std::abs(want) == 1) CHECK(got == want);
          CHECK((got == want || std::abs(got / want - 1) <= 3e-16 || std::abs(want) < 1e-300));
        }
}

TEST_CASE("math64: pow is exact for powers 2, 1, ½ and −1, and where the result is a double",
          "[once]") {
  Bits bits;
  int wrong = 0;
  const auto check = [&wrong](double got, double want) { wrong += got == want ? 0 : 1; };
  for (int i = 0; i < 10000; ++i) {
    const double x = bits.between(-600, 600);
    check(math64::pow(x, 2), x * x);
    check(math64::pow(x, 1), x);
    check(math64::pow(x, -1), 1 / x);
    check(math64::pow(std::abs(x), 0.5), std::sqrt(std::abs(x)));
    check(math64::pow(x, 0), 1);
  }
  for (int n = -1074; n < 1024; ++n) check(math64::pow(2, n), std::ldexp(1, n));
  for (double base = 3; base < 2000; base += 2) {
    double power = base;
    for (int n = 2; power * base < 0x1p53; ++n) {
      check(math64::pow(base, n), power *= base);
      check(math64::pow(-base, n), n % 2 == 0 ? power : -power);
      check(math64::pow(power, 0.5), std::sqrt(power));
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("math64: functions are odd or even, and monotonic ones never turn back", "[once]") {
  Bits bits;
  int wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    const double x = i % 2 == 0 ? bits.between(-40, 30) : bits.between(-1000, 1000);
    for (const auto f : {math64::tanh, math64::erf, math64::sin}) wrong += f(-x) == -f(x) ? 0 : 1;
    wrong += math64::cos(-x) == math64::cos(x) ? 0 : 1;
  }
  CHECK(wrong == 0);
  const struct {
    const char* name;
    double low, high;
  } ranges[] = {{"exp", -746, 710}, {"expm1", -40, 60}, {"log", 0, 3},   {"log1p", -1, 3},
                {"tanh", -20, 20},  {"erf", -6.5, 6.5}, {"erfc", 28, -7}};
  for (const auto& range : ranges) {
    const Function& f = find(range.name);
    double before = f.f(range.low);
    for (int i = 1, n = 20000; i <= n; ++i) {
      const double y = f.f(range.low + (range.high - range.low) * i / n);
      if (!(y >= before)) ++wrong;
      before = y;
    }
    INFO(f.name);
    CHECK(wrong == 0);
  }
}

// This hash of results is the same on every platform. If it fails, then math64.cpp was compiled
// with fused multiply-adds (-ffp-contract=off is missing), with -ffast-math, or with x87
// arithmetic. If math64.cpp itself changed, replace the number.
TEST_CASE("math64: results have the same bits on every platform", "[once]") {
  Bits bits;
  std::uint64_t hash = 0;
  const auto add = [&hash](double y) {
    hash = (hash ^ bit_cast<std::uint64_t>(y)) * 0x100000001b3u;
    hash ^= hash >> 29;
  };
  for (int i = 0; i < 20000; ++i) {
    const double x = bits.any(), y = bits.between(-30, 6), z = bits.between(-3, 5);
    for (const Function& f : kFunctions) {
      for (const double input : {x, y, z}) add(f.f(input));
    }
    add(math64::pow(std::abs(y), z));
    add(math64::pow(x, z));
    add(math64::pow(1 + y * 0x1p-7, z * 32));
  }
  CHECK(hash == 0xaabcd86c0921558fu);
}

}  // namespace gradus::testing::test_math64
