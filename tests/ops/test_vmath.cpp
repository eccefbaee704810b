// Compares vmath with the standard library in long double.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "gradus/engine/base/vmath.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/simd_levels.h"

namespace gradus::testing::test_vmath {

namespace {

template <float (*f)(float)>
GRADUS_INLINE void vmath_rows(const float* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
}

using Real = long double;
using Rows = void (*)(const float* x, float* y, std::int64_t n);

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kDenormal = std::numeric_limits<float>::denorm_min();

// These are the textbook formulas, which vmath does not use.
const Real kRootTwoOverPi = std::sqrt(2.0L / std::acos(-1.0L));

Real exact_sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }
Real exact_silu(Real x) { return x * exact_sigmoid(x); }
Real exact_silu_derivative(Real x) { return exact_sigmoid(x) * (1 + x * exact_sigmoid(-x)); }
Real exact_gelu_tanh(Real x) {
  return x / 2 * (1 + std::tanh(kRootTwoOverPi * (x + 0.044715L * x * x * x)));
}
Real exact_gelu_tanh_derivative(Real x) {
  const Real t = std::tanh(kRootTwoOverPi * (x + 0.044715L * x * x * x));
  return (1 + t) / 2 + x / 2 * (1 - t * t) * kRootTwoOverPi * (1 + 3 * 0.044715L * x * x);
}
Real exact_gelu_erf(Real x) { return x / 2 * std::erfc(-x / std::sqrt(2.0L)); }
Real exact_gelu_erf_derivative(Real x) {
  return std::erfc(-x / std::sqrt(2.0L)) / 2 + x * kRootTwoOverPi / 2 * std::exp(-x * x / 2);
}

struct Function {
  const char* name;
  Rows rows;
  float (*one)(float);
  double (*wide)(double);
  Real (*exact)(Real);
  Real ulps;      // error bound of the float version, in ulps
  Real absolute;  // alternative error bound, times max(1, |x|)
};

// For |x| ≥ 87.3365, the sigmoids flush e^-|x| to 0, although it is still slightly above 2⁻¹²⁶.
constexpr Real kFlushed = 1.0001L * 0x1p-126L;

template <float (*f)(float)>
Function function(const char* name, double (*wide)(double), Real (*exact)(Real), Real ulps,
                  Real absolute) {
  return {
      name,    simd::run<vmath_rows<f>, const float*, float*, std::int64_t>, f, wide, exact, ulps,
      absolute};
}

const Function kFunctions[] = {
    function<vmath::exp>("exp", vmath::exp, std::exp, 1.1L, 0),
    function<vmath::expm1>("expm1", vmath::expm1, std::expm1, 1.7L, 0),
    function<vmath::log>("log", vmath::log, std::log, 1.0L, 0),
    function<vmath::log1p>("log1p", vmath::log1p, std::log1p, 1.5L, 0),
    function<vmath::tanh>("tanh", vmath::tanh, std::tanh, 2.1L, 0),
    function<vmath::erf>("erf", vmath::erf, std::erf, 1.6L, 0),
    function<vmath::sigmoid>("sigmoid", vmath::sigmoid, exact_sigmoid, 2.1L, kFlushed),
    function<vmath::silu>("silu", vmath::silu, exact_silu, 3, kFlushed),
    function<vmath::silu_derivative>("silu'", vmath::silu_derivative, exact_silu_derivative, 3,
                                     1e-7L),
    function<vmath::gelu_tanh>("gelu_tanh", vmath::gelu_tanh, exact_gelu_tanh, 3, 1e-7L),
    function<vmath::gelu_tanh_derivative>("gelu_tanh'", vmath::gelu_tanh_derivative,
                                          exact_gelu_tanh_derivative, 3, 1e-7L),
    function<vmath::gelu_erf>("gelu_erf", vmath::gelu_erf, exact_gelu_erf, 3, 1e-7L),
    function<vmath::gelu_erf_derivative>("gelu_erf'", vmath::gelu_erf_derivative,
                                         exact_gelu_erf_derivative, 3, 1e-7L),
};

const Function& find(const std::string& name) {
  return *std::find_if(std::begin(kFunctions), std::end(kFunctions),
                       [&](const Function& f) { return f.name == name; });
}

/// Returns the spacing of floats at |value|; at a power of two, the spacing below it.
Real ulp(Real value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0L, std::max(exponent - 24, -149));
}

/// Counts ∞ as 2¹²⁸, the float that would follow the largest.
bool close(float got, Real want, Real ulps, Real absolute) {
  if (std::isnan(want)) return std::isnan(got);
  const Real limit = 0x1p128L;
  const Real bounded = std::clamp(want, -limit, limit);
  const Real error = std::abs(std::clamp(static_cast<Real>(got), -limit, limit) - bounded);
  return error <= std::max(ulps * ulp(bounded), absolute);  // false for NaN
}

/// Returns the floats at every `step`-th bit pattern. The default step gives about 680 mantissas
/// for each sign and exponent.
std::vector<float> sweep(std::uint64_t step = 12289) {
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += step) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  return x;
}

void check_bounds(const Function& f, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  std::vector<Real> exact(x.size());
  std::transform(x.begin(), x.end(), exact.begin(), f.exact);
  for (const simd::Level level : testing::simd_levels()) {
    const testing::LevelScope scope(level);
    f.rows(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isinf(x[i])) continue;  // the textbook formulas compute ∞ · 0 here
      const Real allowed = f.absolute * std::max(1.0L, std::abs(static_cast<Real>(x[i])));
      const bool good = close(y[i], exact[i], f.ulps, allowed);
      if (!(good && close(f.one(x[i]), exact[i], f.ulps, allowed)) && wrong++ == 0) first = i;
    }
    INFO(simd::name(level) << ": " << f.name << " of " << x[first] << " is " << y[first] << " and "
                           << f.one(x[first]) << ", not " << exact[first]);
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("vmath: every function keeps its error bound over the range of float", "[once]") {
  for (const Function& f : kFunctions) check_bounds(f, sweep());
}

// Errors are largest where tanh and sigmoid switch methods. They are also largest halfway between
// powers of two, at the ends of the range of exp's polynomial.
TEST_CASE("vmath: error bounds hold where errors are largest", "[once]") {
  std::vector<float> small, negative, half_way;
  for (float x = 0.01f; x < 0.4f; x *= 1.0005f) small.insert(small.end(), {x, -x});
  for (float x = -3.4606f; x < -3.4586f; x = std::nextafter(x, 0.0f)) negative.push_back(x);
  for (int n = -125; n < 127; ++n)
    for (int step = -20; step <= 20; ++step)
      half_way.push_back(static_cast<float>((n + 0.5 + step * 0.003) * 0.6931471805599453));
  check_bounds(find("tanh"), small);
  check_bounds(find("sigmoid"), negative);
  check_bounds(find("exp"), half_way);
  check_bounds(find("expm1"), half_way);
}

TEST_CASE("vmath: a value is independent of its position in a row", "[once]") {
  const testing::LevelScope scope(GENERATE(from_range(testing::simd_levels())));
  // A kernel's vector body and its scalar tail must use the same FMAs.
  const std::vector<float> x = sweep();
  std::vector<float> y(x.size());
  for (const Function& f : kFunctions) {
    f.rows(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
    std::size_t different = 0;
    for (std::size_t i = 0; i < x.size(); i += 7) {
      float alone = 0;
      f.rows(&x[i], &alone, 1);
      const bool same = std::isnan(alone) ? std::isnan(y[i])
                                          : std::bit_cast<std::uint32_t>(alone) ==
                                                std::bit_cast<std::uint32_t>(y[i]);
      if (!same) ++different;
    }
    INFO(f.name);
    CHECK(different == 0);
  }
}

TEST_CASE("vmath: NaN, infinities, zeros and ends of ranges give the right values", "[once]") {
  const testing::LevelScope scope(GENERATE(from_range(testing::simd_levels())));
  struct Special {
    const char* name;
    float x, y;
  };
  const Special specials[] = {
      {"exp", -kInf, 0},
      {"exp", kInf, kInf},
      {"exp", 0, 1},
      {"exp", -0.0f, 1},
      {"exp", -1e30f, 0},
      {"exp", 1e30f, kInf},
      {"exp", 88.73f, kInf},
      {"exp", -103.9f, kDenormal},
      {"exp", -104, 0},
      {"exp", -200, 0},
      {"expm1", -kInf, -1},
      {"expm1", kInf, kInf},
      {"expm1", -0.0f, -0.0f},
      {"expm1", kDenormal, kDenormal},
      {"log", 0, -kInf},
      {"log", -0.0f, -kInf},
      {"log", 1, 0},
      {"log", -1, kNan},
      {"log", -kDenormal, kNan},
      {"log", -kInf, kNan},
      {"log", kInf, kInf},
      {"log", kDenormal, -103.27893f},
      {"log1p", -1, -kInf},
      {"log1p", -2, kNan},
      {"log1p", -kInf, kNan},
      {"log1p", kInf, kInf},
      {"log1p", -0.0f, -0.0f},
      {"log1p", kDenormal, kDenormal},
      {"tanh", kInf, 1},
      {"tanh", -kInf, -1},
      {"tanh", 12, 1},
      {"tanh", -0.0f, -0.0f},
      {"tanh", kDenormal, kDenormal},
      {"erf", kInf, 1},
      {"erf", -kInf, -1},
      {"erf", -4, -1},
      {"erf", -0.0f, -0.0f},
      {"sigmoid", kInf, 1},
      {"sigmoid", -kInf, 0},
      {"sigmoid", 0, 0.5f},
      {"silu", kInf, kInf},
      {"silu", -kInf, 0},
      {"silu'", kInf, 1},
      {"silu'", -kInf, 0},
      {"gelu_tanh", kInf, kInf},
      {"gelu_tanh", -kInf, 0},
      {"gelu_tanh'", kInf, 1},
      {"gelu_tanh'", -kInf, 0},
      {"gelu_erf", kInf, kInf},
      {"gelu_erf", -kInf, 0},
      {"gelu_erf'", kInf, 1},
      {"gelu_erf'", -kInf, 0},
  };
  for (const Special& special : specials) {
    const std::vector<float> x(37, special.x);  // long enough for a vector body and a scalar tail
    std::vector<float> y(x.size());
    find(special.name).rows(x.data(), y.data(), 37);
    for (const float value : {y[0], y[36]}) {
      INFO(special.name << "(" << special.x << ") = " << value << ", not " << special.y);
      CHECK((std::isnan(special.y) ? std::isnan(value) : value == special.y));
      if (special.x == 0) CHECK(std::signbit(value) == std::signbit(special.y));
    }
  }
  for (const Function& f : kFunctions) {
    for (const float nan : {kNan, -kNan, std::numeric_limits<float>::signaling_NaN()}) {
      const std::vector<float> x(37, nan);
      std::vector<float> y(x.size());
      f.rows(x.data(), y.data(), 37);
      INFO(f.name << " of NaN");
      CHECK(std::all_of(y.begin(), y.end(), [](float value) { return std::isnan(value); }));
    }
  }
}

TEST_CASE("vmath: double versions agree with the standard library at double precision", "[once]") {
  for (const Function& f : kFunctions) {
    CHECK(std::isnan(f.wide(std::numeric_limits<double>::quiet_NaN())));
    for (double x = -38.0; x <= 38.0; x += 0.03125) {
      const Real want = f.exact(x);
      const double got = f.wide(x);
      if (std::isnan(want)) continue;  // a logarithm outside its domain
      // Each of about ten operations has an error of u = 2⁻⁵³ times at most max(1, |x|, |f(x)|).
      // Exponents are an exception: |2u| ≤ 4100 in gelu_tanh makes e^-2u less accurate, but only
      // where e^-2u is negligible.
      const Real allowed =
          10 * 0x1p-53L * std::max({1.0L, std::abs(static_cast<Real>(x)), std::abs(want)});
      CAPTURE(f.name, x, got);
      CHECK((static_cast<Real>(got) == want || std::abs(got - want) <= allowed));
    }
  }
  for (const double inf :
       {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()}) {
    const bool up = inf > 0;
    CHECK(vmath::silu(inf) == (up ? inf : 0));
    CHECK(vmath::gelu_tanh(inf) == (up ? inf : 0));
    CHECK(vmath::gelu_erf(inf) == (up ? inf : 0));
    CHECK(vmath::silu_derivative(inf) == (up ? 1 : 0));
    CHECK(vmath::gelu_tanh_derivative(inf) == (up ? 1 : 0));
    CHECK(vmath::gelu_erf_derivative(inf) == (up ? 1 : 0));
  }
}

namespace {

/// Returns values of both signs, with magnitudes from 2⁻⁸ to 2⁸.
template <class T>
std::vector<T> numbers(std::int64_t n, std::uint32_t state) {
  std::vector<T> x;
  for (std::int64_t i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    const double mantissa = 1.0 + (state >> 8) / 16777216.0;
    const int exponent = static_cast<int>((state >> 4) % 16) - 8;
    x.push_back(static_cast<T>(std::ldexp((state >> 31) != 0 ? -mantissa : mantissa, exponent)));
  }
  return x;
}

/// Each term passes through ⌈n / lanes⌉ + log₂ lanes additions. A product is rounded once more.
/// Each rounding adds an error of at most u · Σ|terms|.
template <class T>
void check_sum(T got, const std::vector<Real>& terms) {
  Real sum = 0, magnitude = 0;
  for (const Real term : terms) sum += term, magnitude += std::abs(term);
  const Real lanes = sizeof(T) == 4 ? 32 : 16;
  const Real roundings = static_cast<Real>(terms.size()) / lanes + 7;
  const Real u = std::numeric_limits<T>::epsilon() / 2;
  CAPTURE(terms.size(), got);
  CHECK(std::abs(got - sum) <= roundings * u * magnitude);
}

template <class T>
void check_reductions(std::int64_t n) {
  const std::vector<T> x = numbers<T>(n, 1), y = numbers<T>(n, 2);
  std::vector<Real> terms(x.begin(), x.end()), squares, products;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares.push_back(terms[i] * terms[i]);
    products.push_back(terms[i] * y[i]);
  }
  check_sum(vmath::sum(x.data(), n), terms);
  check_sum(vmath::sum_squares(x.data(), n), squares);
  check_sum(vmath::dot(x.data(), y.data(), n), products);
  const T none = -std::numeric_limits<T>::infinity();
  CHECK(vmath::max(x.data(), n) == (n == 0 ? none : *std::max_element(x.begin(), x.end())));
}

}  // namespace

TEST_CASE("vmath: sums, dot products and maxima are right for rows of any length", "[once]") {
  for (const std::int64_t n : {0, 1, 15, 16, 17, 31, 32, 33, 64, 1000}) {
    check_reductions<float>(n);
    check_reductions<double>(n);
    // Integers below 2²⁴ add exactly, so an index that is counted twice or never changes the sum.
    const auto index = [](std::int64_t i) { return static_cast<float>(i); };
    CHECK(vmath::sum_of<float>(n, index) == static_cast<float>(n * (n - 1) / 2));
  }
}

TEST_CASE("vmath: max keeps NaN at any position, and −∞", "[once]") {
  for (const std::int64_t n : {1, 31, 33, 70}) {
    std::vector<float> x(static_cast<std::size_t>(n), -kInf);
    CHECK(vmath::max(x.data(), n) == -kInf);
    for (float& value : x) {
      value = kNan;
      CHECK(std::isnan(vmath::max(x.data(), n)));
      value = -1;
      CHECK(vmath::max(x.data(), n) == -1);
      value = -kInf;
    }
  }
}

}  // namespace gradus::testing::test_vmath
