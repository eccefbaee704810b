#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gradus/engine/base/error.h"
#include "gradus/engine/gemm/narrow.h"
#include "gradus/engine/gemm/packed.h"
#include "gradus/tests/engine/base/threads.h"
#include "gradus/tests/engine/gemm/products.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/simd_levels.h"

using namespace gradus::gemm;
using gradus::testing::LevelScope;
using gradus::tests::numbers;
using std::int64_t;

namespace {

constexpr std::size_t kPart = kScaled;
constexpr Precision kAll[] = {Precision::f32, Precision::bf16, Precision::f16, Precision::int8};

std::vector<float> unpacked(const PackedMatrix& w) {
  std::vector<float> all(static_cast<std::size_t>(w.rows() * w.columns()));
  for (int64_t i = 0; i < w.rows(); ++i) w.unpack_row(i, all.data() + i * w.columns());
  return all;
}

}  // namespace

TEST_CASE("all 65,536 values of bf16 and f16 survive conversion to f32 and back", "[kernel]") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const BFloat16 b{static_cast<std::uint16_t>(bits)};
    const Float16 h{static_cast<std::uint16_t>(bits)};
    if (std::isnan(widen(b)) ? !std::isnan(widen(to_bfloat16(widen(b))))
                             : to_bfloat16(widen(b)).bits != bits)
      FAIL("bf16 " << bits);
    if (std::isnan(widen(h)) ? !std::isnan(widen(to_float16(widen(h))))
                             : to_float16(widen(h)).bits != bits)
      FAIL("f16 " << bits);
  }
}

TEST_CASE("NaN keeps its sign in bf16 and f16 for any payload", "[kernel]") {
  for (int bit = 0; bit < 23; ++bit)
    for (const std::uint32_t sign : {0u, 0x80000000u}) {
      CAPTURE(bit, sign);
      const float nan = std::bit_cast<float>(sign | 0x7F800000u | 1u << bit);
      const float b = widen(to_bfloat16(nan)), h = widen(to_float16(nan));
      CHECK(std::isnan(b));
      CHECK(std::isnan(h));
      CHECK(std::signbit(b) == (sign != 0));
      CHECK(std::signbit(h) == (sign != 0));
    }
}

TEST_CASE("conversion to bf16 and f16 rounds to nearest, ties to even", "[kernel]") {
  for (std::uint32_t bits = 0; bits < 0x7BFF; ++bits) {  // every finite f16 value
    const auto low = static_cast<std::uint16_t>(bits), next = static_cast<std::uint16_t>(bits + 1);
    const auto even = static_cast<std::uint16_t>(bits % 2 == 0 ? low : next);
    const float h = (widen(Float16{low}) + widen(Float16{next})) / 2;  // exact in f32
    const float b = widen(BFloat16{low}) / 2 + widen(BFloat16{next}) / 2;
    if (to_float16(h).bits != even || to_float16(std::nextafter(h, 0.f)).bits != low ||
        to_float16(std::nextafter(h, 1e9f)).bits != next || to_float16(-h).bits != (even | 0x8000))
      FAIL("f16 " << bits);
    if (bits > 256 &&
        (to_bfloat16(b).bits != even || to_bfloat16(std::nextafter(b, 0.f)).bits != low))
      FAIL("bf16 " << bits);
  }
  CHECK(to_float16(65519.996f).bits == 0x7BFF);
  CHECK(std::isinf(widen(to_float16(65520.f))));
}

TEST_CASE("packing rounds by at most half a step of the format", "[kernel]") {
  std::vector<float> x =
      numbers<float>(3 * 401, 1);  // parts of 192, 192 and 17 columns, each with a scale
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= i % 401 < kPart ? 100.0f : 1.0f;
  const Matrix<const float> from(x.data(), 3, 401);
  for (const Precision precision : kAll) {
    const std::vector<float> y = unpacked(PackedMatrix(from, precision));
    for (std::size_t i = 0; i < x.size(); ++i) {
      float largest = 0;
      const std::size_t row = i / 401 * 401, part = row + (i - row) / kPart * kPart;
      for (std::size_t j = part; j < std::min(part + kPart, row + 401); ++j)
        largest = std::max(largest, std::abs(x[j]));
      const float bound = precision == Precision::f32    ? 0
                          : precision == Precision::bf16 ? std::abs(x[i]) * 0x1p-8f
                          : precision == Precision::f16  ? std::abs(x[i]) * 0x1p-11f + 0x1p-25f
                                                         : largest / 127 / 2 * 1.0001f;
      INFO(name(precision) << " " << i << " " << x[i] << " " << y[i]);
      CHECK(std::abs(x[i] - y[i]) <= bound);
    }
  }
}

namespace {

/// Checks y [n, rows] = x w_as_packedᵀ + bias at every level, with and without bias, on multiple
/// threads.
void check_product(Precision precision, int64_t rows, int64_t columns, int64_t n) {
  const auto w = numbers<float>(rows * columns, 1), x = numbers<float>(n * columns, 2),
             bias = numbers<float>(rows, 3);
  const PackedMatrix packed(Matrix<const float>(w.data(), rows, columns), precision);
  const std::vector<float> u = unpacked(packed);
  std::vector<double> expected;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < rows; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < columns; ++p)
        sum += double(x[static_cast<std::size_t>(i * columns + p)]) *
               double(u[static_cast<std::size_t>(j * columns + p)]);
      expected.push_back(sum);
    }
  for (const auto level : gradus::testing::simd_levels())
    for (const bool biased : {true, false}) {
      const LevelScope scope(level);
      const gradus::tests::Threads team(biased ? 2 : 3);
      std::vector<float> y(expected.size(), -9);
      packed.multiply(Matrix<float>(y.data(), n, rows), {x.data(), n, columns},
                      biased ? bias.data() : nullptr);
      double worst = 0;
      for (std::size_t i = 0; i < y.size(); ++i) {
        const double added = biased ? bias[i % static_cast<std::size_t>(rows)] : 0;
        worst = std::max(worst, std::abs(expected[i] + added - y[i]));
      }
      INFO(name(precision) << " " << rows << " " << columns << " " << n << " " << biased);
      // The terms are at most 1/4. Each addition rounds a sum of at most columns/4 + 1/2 by 2⁻²⁴.
      const double k = static_cast<double>(columns) + 3;
      CHECK(worst <= k * (k / 4 + 1) * 0x1p-24);
    }
}

}  // namespace

TEMPLATE_TEST_CASE_SIG("packed matmuls at every SIMD level agree with a loop over rounded weights",
                       "", ((Precision precision), precision), Precision::f32, Precision::bf16,
                       Precision::f16, Precision::int8) {
  for (const int64_t rows : {0, 1, 7, 67})
    for (const int64_t columns : {0, 1, 13, 64, 131, 192, 401})
      for (const int64_t n : {0, 1, 3, 8, 11}) check_product(precision, rows, columns, n);
  check_product(precision, 401, 401, 3);
  check_product(precision, 401, 401, 11);
}

TEST_CASE("packed weights take half or a quarter of the memory of f32") {
  const std::vector<float> x = numbers<float>(64 * 384, 1);
  const auto bytes = [&](Precision p) { return PackedMatrix({x.data(), 64, 384}, p).bytes(); };
  const int64_t f32 = 64 * 384 * 4;
  CHECK(bytes(Precision::bf16) <= f32 / 2);
  CHECK(bytes(Precision::f16) <= f32 / 2);
  CHECK(bytes(Precision::int8) <= f32 / 4 + f32 / 100);  // the scales take extra memory
}

TEST_CASE("int8 keeps the sign of tiny values", "[kernel]") {
  const float least = std::numeric_limits<float>::denorm_min();
  for (float many = 1; many < 260; ++many) {  // 1/127 of the value underflows
    const std::vector<float> few{many * least, -many * least};
    const std::vector<float> kept = unpacked(PackedMatrix({few.data(), 1, 2}, Precision::int8));
    CAPTURE(many);
    CHECK((kept[0] >= 0 && kept[0] <= 1.51f * few[0]));
    CHECK(kept[1] == -kept[0]);
  }
}

TEST_CASE("packing accepts the largest value of a format and rejects the next", "[kernel]") {
  const auto held = [](float most, Precision precision) {
    const std::vector<float> x{most, -most};
    return unpacked(PackedMatrix({x.data(), 1, 2}, precision));
  };
  const float largest = std::numeric_limits<float>::max();
  CHECK(held(largest, Precision::f32) == std::vector<float>{largest, -largest});
  CHECK(held(65519.996f, Precision::f16) == std::vector<float>{65504, -65504});
  const float bf16 = 0x1.FEp127f, half_way = 0x1.FFp127f;
  CHECK(held(std::nextafter(half_way, 0.f), Precision::bf16) == std::vector<float>{bf16, -bf16});
  for (const auto& [first, precision] :
       {std::pair{65520.f, Precision::f16}, {half_way, Precision::bf16}}) {
    for (const float too_large : {first, -first})
      CHECK_THROWS_AS(PackedMatrix({&too_large, 1, 1}, precision), gradus::ValueError);
  }
}

TEST_CASE("packing rejects values outside the format and reports their position", "[kernel]") {
  const auto packed = [](float bad, Precision precision) {
    const std::vector<float> x{1, 2, 3, 4, bad, 6};
    return PackedMatrix(Matrix<const float>(x.data(), 2, 3), precision);
  };
  CHECK_REFUSES(gradus::ValueError, packed(70000, Precision::f16), "[1, 1]", "70000", "f16");
  for (const Precision precision : {Precision::bf16, Precision::f16, Precision::int8})
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
      CHECK_REFUSES(gradus::ValueError, packed(bad, precision), "[1, 1]");
}

TEST_CASE("packed matmuls reject mismatched shapes and transposed layouts") {
  const std::vector<float> zeros(6, 0);
  const PackedMatrix w({zeros.data(), 2, 3}, Precision::bf16);
  for (const float each : unpacked(PackedMatrix({zeros.data(), 2, 3}, Precision::int8)))
    CHECK(each == 0);
  std::vector<float> y(4);
  const Matrix<const float> x(zeros.data(), 2, 3), x_by_columns(zeros.data(), 3, 2);
  const Matrix<float> out(y.data(), 2, 2);
  using gradus::ShapeError, gradus::ValueError;
  CHECK_REFUSES(ShapeError, w.multiply(out, {zeros.data(), 2, 2}), "[2, 2]", "[2, 3]");
  CHECK_REFUSES(ShapeError, w.multiply({y.data(), 1, 2}, x), "[1, 2]", "[2, 3]");
  CHECK_REFUSES(ShapeError, w.multiply({y.data(), 2, 1}, x), "[2, 1]", "[2, 3]");
  CHECK_REFUSES(ValueError, w.multiply(out, x_by_columns.transpose()), "transpose");
  CHECK_REFUSES(ValueError, w.multiply(out.transpose(), x), "transpose");
  CHECK_REFUSES(ValueError, PackedMatrix(x.transpose(), Precision::bf16), "transpose");
}
