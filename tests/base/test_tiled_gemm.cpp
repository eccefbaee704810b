// Products by tiles, whatever the library of this machine would choose, and the copies they make.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "gradus/base/blas.h"
#include "gradus/base/plain_gemm.h"
#include "gradus/base/tiled_gemm.h"
#include "gradus/base/transpose.h"
#include "gradus/tests/base/products.h"
#include "gradus/tests/support/catch.h"

namespace blas = gradus::blas;
using gradus::tests::numbers;
using gradus::tests::Product;
using gradus::tests::product_tolerance;
using std::int64_t;

namespace {

// All of C, the gaps between its rows included.
void compare(const Product& s, bool ta, bool tb, double beta) {
  CAPTURE(s.m, s.n, s.k, ta, tb, beta);
  const int64_t lda = (ta ? s.m : s.k) + 3, ldb = (tb ? s.k : s.n) + 2, ldc = s.n + 1;
  const auto a = numbers<double>((ta ? s.k : s.m) * lda, 1);
  const auto b = numbers<double>((tb ? s.n : s.k) * ldb, 2);
  auto c = numbers<double>(s.m * ldc, 3);
  auto expected = c;
  blas::plain_gemm(ta, tb, s.m, s.n, s.k, 1.5, a.data(), lda, b.data(), ldb, beta, expected.data(),
                   ldc);
  blas::tiled_gemm(ta, tb, s.m, s.n, s.k, 1.5, a.data(), lda, b.data(), ldb, beta, c.data(), ldc,
                   blas::plain_gemm<double>);
  const double tolerance = product_tolerance<double>(s.k, 1.5);
  int wrong = 0;
  for (std::size_t i = 0; i < c.size(); ++i) wrong += !(std::abs(c[i] - expected[i]) <= tolerance);
  CHECK(wrong == 0);
}

template <class T>
void check_transpose(int64_t rows, int64_t width) {
  CAPTURE(rows, width);
  const int64_t row = width + 3, apart = rows + 2;
  const auto x = numbers<T>(rows * row, 4);
  std::vector<T> to(static_cast<std::size_t>(width * apart), T{7});
  gradus::kernel::transpose(x.data(), row, rows, width, to.data(), apart);
  int wrong = 0;
  for (int64_t c = 0; c < width; ++c)
    for (int64_t r = 0; r < apart; ++r)
      wrong += to[static_cast<std::size_t>(c * apart + r)] !=
               (r < rows ? x[static_cast<std::size_t>(r * row + c)] : T{7});
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("products by tiles agree with the plain loop") {
  // Below one tile, just one, one more than a tile along each axis, and several.
  for (const Product& s : {Product{1, 1, 1}, Product{96, 64, 64}, Product{97, 65, 129},
                           Product{95, 129, 65}, Product{193, 31, 257}, Product{17, 150, 20}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const double beta : {0.0, 1.0, -0.5}) compare(s, ta, tb, beta);
}

TEST_CASE("products by tiles overwrite NaN where beta is 0") {
  const int64_t m = 97, n = 65, k = 129;
  const auto a = numbers<float>(m * k, 1), b = numbers<float>(k * n, 2);
  std::vector<float> c(static_cast<std::size_t>(m * n), std::numeric_limits<float>::quiet_NaN());
  blas::tiled_gemm(false, true, m, n, k, 1.0F, a.data(), k, b.data(), k, 0.0F, c.data(), n,
                   blas::plain_gemm<float>);
  CHECK(std::all_of(c.begin(), c.end(), [](float x) { return std::isfinite(x); }));
}

TEST_CASE("a tile is small enough for the library to read it where it lies") {
  STATIC_REQUIRE(blas::kTile.multiplications() <= 100 * 100 * 100);
  STATIC_REQUIRE(blas::kTileOfTransposed.multiplications() <= 100 * 100 * 100);
}

TEST_CASE("blocks are transposed and nothing beside them is written") {
  for (const auto& [rows, width] : {std::pair<int64_t, int64_t>{8, 8},
                                    {16, 24},
                                    {17, 9},
                                    {7, 31},
                                    {15, 8},
                                    {23, 40},
                                    {1, 5},
                                    {0, 3},
                                    {3, 0}}) {
    check_transpose<float>(rows, width);
    check_transpose<double>(rows, width);
  }
}
