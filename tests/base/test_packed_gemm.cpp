// Our own products, whatever this machine would choose, and the transposing that they rest on.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "gradus/base/packed_gemm.h"
#include "gradus/base/transpose.h"
#include "gradus/tests/base/products.h"
#include "gradus/tests/support/catch.h"

namespace blas = gradus::blas;
using gradus::tests::numbers;
using gradus::tests::Product;
using gradus::tests::product_tolerance;
using gradus::tests::wrong_numbers;
using std::int64_t;

namespace {

template <class T>
void multiply(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
              const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  const auto gemm = ta ? blas::packed_gemm<true, T> : blas::packed_gemm<false, T>;
  gemm(tb, m, n, k, alpha, a, lda, b, ldb, {beta, c, ldc, nullptr}, c, ldc);
}

template <class T>
void compare(const Product& s, bool ta, bool tb, T beta) {
  CAPTURE(s.m, s.n, s.k, ta, tb, beta);
  CHECK(wrong_numbers(s, ta, tb, beta == 1 ? T{1} : T(1.5), beta, multiply<T>) == 0);
}

// Below one tile, just one, one more along each axis, several, and each number of rows that may be
// left over; more than one depth, and more columns than are packed at a time.
template <class T>
void compare_all() {
  using P = blas::Packing<T>;
  const int64_t rows = P::rows, columns = P::columns, depth = P::depth;
  for (const Product& s :
       {Product{1, 1, 1}, Product{rows, columns, 16}, Product{rows + 1, columns + 1, 17},
        Product{rows - 1, columns - 1, 5}, Product{3 * rows + 5, 2 * columns + 7, 31},
        Product{17, 20, depth}, Product{2 * rows, columns, 2 * depth + 1},
        Product{5, P::all_columns + 3, 7}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const T beta : {T{0}, T{1}, T(-0.5)}) compare<T>(s, ta, tb, beta);
  for (int64_t left = 1; left < rows; ++left) compare<T>({rows + left, columns, 9}, true, true, 1);
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

TEST_CASE("packed products agree with the plain loop") {
  compare_all<float>();
  compare_all<double>();
}

TEST_CASE("packed products overwrite NaN where beta is 0") {
  for (const bool ta : {false, true}) {
    const Product s{29, 65, 300};  // whole tiles and parts of one, twice the depth
    const auto a = numbers<float>(s.m * s.k, 1), b = numbers<float>(s.k * s.n, 2);
    std::vector<float> c(static_cast<std::size_t>(s.m * s.n),
                         std::numeric_limits<float>::quiet_NaN());
    multiply(ta, true, s.m, s.n, s.k, 1.0F, a.data(), ta ? s.m : s.k, b.data(), s.k, 0.0F, c.data(),
             s.n);
    CHECK(std::all_of(c.begin(), c.end(), [](float x) { return std::isfinite(x); }));
  }
}

TEST_CASE("packed products add a bias and what lies elsewhere once") {
  constexpr std::size_t m = 29, n = 65, apart = n + 4, count = m * n;
  const Product s{m, n, 300};
  const auto a = numbers<double>(s.m * s.k, 1), b = numbers<double>(s.k * s.n, 2);
  const auto old = numbers<double>(s.m * apart, 3), bias = numbers<double>(s.n, 4);
  std::vector<double> c(count, std::numeric_limits<double>::quiet_NaN()), expected(count);
  for (std::size_t i = 0; i < count; ++i)
    expected[i] = 2 * old[i / n * apart + i % n] + bias[i % n];
  blas::plain_gemm(false, false, s.m, s.n, s.k, 1.5, a.data(), s.k, b.data(), s.n, 1.0,
                   expected.data(), s.n);
  blas::packed_gemm<false, double>(false, s.m, s.n, s.k, 1.5, a.data(), s.k, b.data(), s.n,
                                   {2.0, old.data(), apart, bias.data()}, c.data(), s.n);
  double worst = 0;
  for (std::size_t i = 0; i < count; ++i) worst = std::fmax(worst, std::abs(c[i] - expected[i]));
  CHECK(worst <= product_tolerance(s.k, 1.5));
  CHECK(std::all_of(c.begin(), c.end(), [](double x) { return std::isfinite(x); }));
}

TEST_CASE("packed products keep NaN and infinity in their rows and columns") {
  const Product s{30, 70, 20};
  auto a = numbers<double>(s.m * s.k, 1), b = numbers<double>(s.k * s.n, 2);
  a[16 * 20 + 3] = std::numeric_limits<double>::quiet_NaN();  // row 16
  b[7 * 70 + 41] = std::numeric_limits<double>::infinity();   // column 41
  std::vector<double> c(static_cast<std::size_t>(s.m * s.n));
  multiply(false, false, s.m, s.n, s.k, 1.0, a.data(), s.k, b.data(), s.n, 0.0, c.data(), s.n);
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j)
      REQUIRE(std::isfinite(c[static_cast<std::size_t>(i * s.n + j)]) == (i != 16 && j != 41));
}

// Reading too far is seen by the address sanitizer's build.
TEST_CASE("packed products read and write nothing behind their matrices") {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const Product s{31, 45, 19};
      const auto a = numbers<float>(s.m * s.k, 1), b = numbers<float>(s.k * s.n, 2);
      std::vector<float> c(static_cast<std::size_t>(s.m * s.n) + 64, 7.0F);
      multiply(ta, tb, s.m, s.n, s.k, 1.0F, a.data(), ta ? s.m : s.k, b.data(), tb ? s.k : s.n,
               0.0F, c.data(), s.n);
      CHECK(std::all_of(c.end() - 64, c.end(), [](float x) { return x == 7.0F; }));
    }
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
