// vmath's reductions against long double: sums, dot products, maxima of rows.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gradus/tests/support/catch.h"

// Tests are built with -O1, kernels are not: what follows shall be vectorised as they are.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O2", "tree-vectorize", "vect-cost-model=dynamic", "no-math-errno", \
                     "no-trapping-math")
#endif
#include "gradus/base/vmath.h"
#include "gradus/tests/support/simd_levels.h"

namespace gradus {

namespace {

GRADUS_INLINE float vmath_sum(const float* x, std::int64_t n) { return vmath::sum(x, n); }

using Real = long double;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMin = std::numeric_limits<float>::min();

/// Numbers of either sign, from 2⁻⁸ to 2⁸ by magnitude.
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

/// |Σ terms - got|, allowed: each term goes through ⌈n / lanes⌉ + log₂ lanes additions, and one
/// rounding more where it is a product; every one of them is off by at most u of Σ|terms|.
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

TEST_CASE("vmath: sums, dot products and maxima of rows of any length", "[once]") {
  for (const std::int64_t n : {0, 1, 15, 16, 17, 31, 32, 33, 64, 1000}) {
    check_reductions<float>(n);
    check_reductions<double>(n);
    // Whole numbers below 2²⁴ add up exactly: each index is counted, and once.
    const auto index = [](std::int64_t i) { return static_cast<float>(i); };
    CHECK(vmath::sum_of<float>(n, index) == static_cast<float>(n * (n - 1) / 2));
  }
}

TEST_CASE("vmath: a sum has the same bits for any instruction set", "[once]") {
  const std::vector<float> x = numbers<float>(1000, 3);
  float lane[32] = {};
  for (std::size_t i = 0; i < x.size(); ++i) lane[i % 32] += x[i];
  for (std::size_t width = 16; width > 0; width /= 2) {
    for (std::size_t j = 0; j < width; ++j) lane[j] += lane[j + width];
  }
  for (const simd::Level level : testing::simd_levels()) {
    const testing::LevelScope scope(level);
    CAPTURE(simd::name(level));
    CHECK(simd::run<vmath_sum>(x.data(), 1000) == lane[0]);
  }
}

namespace {

/// Up to eight numbers one after the other, more of them in lanes.
template <class T>
T sum_in_order(const std::vector<T>& x) {
  const std::size_t lanes = sizeof(T) == 4 ? 32 : 16;
  std::vector<T> lane(x.size() <= 8 ? 1 : lanes);
  for (std::size_t i = 0; i < x.size(); ++i) lane[i % lane.size()] += x[i];
  for (std::size_t width = lane.size() / 2; width > 0; width /= 2)
    for (std::size_t j = 0; j < width; ++j) lane[j] += lane[j + width];
  return lane[0];
}

template <class T>
void check_order() {
  for (std::int64_t n = 1; n < 70; ++n)
    for (const std::uint32_t state : {1u, 2u, 3u}) {
      const std::vector<T> x = numbers<T>(n, state);
      CAPTURE(n, state);
      CHECK(vmath::sum(x.data(), n) == sum_in_order(x));
    }
}

}  // namespace

TEST_CASE("vmath: the order of a sum depends on its length alone", "[once]") {
  check_order<float>();
  check_order<double>();
}

TEST_CASE("vmath: max keeps NaN wherever it stands, and -∞", "[once]") {
  for (const std::int64_t n : {1, 31, 33, 70}) {
    std::vector<float> x(static_cast<std::size_t>(n), -kInf);
    CHECK(vmath::max(x.data(), n) == -kInf);
    for (float& value : x) {
      value = kNan;
      CHECK(std::isnan(vmath::max(x.data(), n)));
      value = kMin;
      CHECK(vmath::max(x.data(), n) == kMin);
      value = -kInf;
    }
  }
}

}  // namespace gradus
