#include "gradus/engine/gemm/instruction_set.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/engine/gemm/backend.h"
#include "gradus/tests/engine/gemm/products.h"
#include "gradus/tests/support/bits_scope.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/simd_levels.h"

namespace gemm = gradus::gemm;
using gradus::tests::numbers;

namespace {

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}

/// a * b + c by the emulation, once in each lane.
float emulated(float a, float b, float c) {
  gemm::Emulated::Floats sum{c, 1, 2, c};
  gemm::Emulated::multiply_add(sum, gemm::Emulated::Floats{a, 3, 5, a},
                               gemm::Emulated::Floats{b, 7, 11, b});
  const bool lanes_agree = sum[1] == 22 && sum[2] == 57 && same(sum[0], sum[3]);
  return lanes_agree ? sum[0] : 12345.f;
}

/// Random bits: every exponent, also denormal, infinite and NaN.
float any_float(std::uint32_t word) { return gradus::bit_cast<float>(word); }

/// The bits of C = A B with portable bits at a level. `k` includes a tail of every vector width.
template <class T>
std::vector<T> product_at(gradus::simd::Level level, std::int64_t m, std::int64_t n, std::int64_t k,
                          bool transposed) {
  const auto a = numbers<T>(m * k, 1), b = numbers<T>(n * k, 2);
  std::vector<T> c(static_cast<std::size_t>(m * n));
  const gemm::Matrix<const T> right = transposed ? gemm::Matrix<const T>(b.data(), n, k).transpose()
                                                 : gemm::Matrix<const T>(b.data(), k, n);
  multiply_by({gemm::Backend::builtin, level, "test"}, gemm::Matrix<T>(c.data(), m, n),
              {a.data(), m, k}, right);
  return c;
}

}  // namespace

// std::fma is exact, by the C standard.
TEST_CASE("the emulated multiply-add rounds once, as std::fma does") {
  const gradus::RandomStream random{7, 0, 0};
  std::uint32_t words[3];
  const auto word = [&](std::int64_t i) {
    return static_cast<std::uint32_t>(random.uniform(i) * 0x1p32);
  };
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < 200'000; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) words[j] = word(3 * i + j);
    const float a = any_float(words[0]), b = any_float(words[1]), c = any_float(words[2]);
    if (!same(emulated(a, b, c), std::fma(a, b, c))) ++wrong;
    // Similar exponents, where c cancels most of a · b.
    int exponent;
    const float x = std::frexp(a, &exponent), y = std::frexp(b, &exponent);
    for (const float z : {-x * y, std::nextafter(-x * y, 9.f), -x * y * 0x1p-24f, 1.f, 0.f, -0.f})
      if (!same(emulated(x, y, z), std::fma(x, y, z))) ++wrong;
  }
  CHECK(wrong == 0);
  const float big = std::numeric_limits<float>::max(), none = std::nanf("");
  for (const float a : {0.f, -0.f, 1.f, -1.f, big, -big, 0x1p-149f, INFINITY, -INFINITY, none})
    for (const float b : {0.f, -0.f, 1.f, -1.f, big, 0x1p-149f, 0x1.8p-1f, INFINITY, none})
      for (const float c : {0.f, -0.f, 1.f, big, -big, 0x1p-149f, -0x1p-149f, INFINITY, none}) {
        CAPTURE(a, b, c);
        CHECK(same(emulated(a, b, c), std::fma(a, b, c)));
      }
}

TEMPLATE_TEST_CASE("portable matmuls have the same bits at every level", "", float, double) {
  const gradus::testing::BitsScope portable(gradus::Bits::portable);
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{1, 1, 1},
                                                                        {3, 5, 7},
                                                                        {1, 37, 100},
                                                                        {2, 19, 77},
                                                                        {5, 9, 61},
                                                                        {8, 30, 259},
                                                                        {90, 3, 67},
                                                                        {31, 47, 600},
                                                                        {100, 130, 33}})
    for (const bool transposed : {false, true}) {
      CAPTURE(m, n, k, transposed);
      const auto first = product_at<TestType>(gradus::simd::Level::baseline, m, n, k, transposed);
      for (const gradus::simd::Level level : gradus::testing::simd_levels()) {
        CAPTURE(gradus::simd::name(level));
        CHECK(product_at<TestType>(level, m, n, k, transposed) == first);
      }
    }
}
