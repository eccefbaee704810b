// Every matmul backend and SIMD level agrees with a plain loop: transposes, options, tile edges,
// few rows, vectors, sums of one term, NaN and infinity.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "gradus/base/parallel.h"
#include "gradus/base/products/tile.h"
#include "gradus/base/transpose.h"
#include "gradus/tests/base/products.h"
#include "gradus/tests/support/catch.h"

namespace products = gradus::products;
using gradus::tests::Case;
using gradus::tests::every_choice;
using gradus::tests::Expected;
using gradus::tests::numbers;
using std::int64_t;

namespace {

template <class T>
void check(const Case<T>& s) {
  const Expected<T> expected(s);
  for (const products::Choice& choice : every_choice()) {
    CAPTURE(choice.reason, s.m, s.n, s.k, s.ta, s.tb, s.alpha, s.beta, s.bias, s.residual);
    CHECK(expected.wrong(choice) == 0);
  }
}

/// One size with every transpose, and with options that meet each other.
template <class T>
void check_options(int64_t m, int64_t n, int64_t k) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      check<T>({m, n, k, ta, tb});
      check<T>({m, n, k, ta, tb, T(1.5), 1});
      check<T>({m, n, k, ta, tb, 1, T(-0.5)});
      check<T>({m, n, k, ta, tb, 1, 0, true, false});
      check<T>({m, n, k, ta, tb, 1, 0, false, true});
      check<T>({m, n, k, ta, tb, T(-0.75), 2, true, true});
    }
}

/// A tile of one width of vectors: its size is where others have their edges, too.
template <class Set, class T>
struct TileOf {
  using Number = T;
  using Tile = products::Tile<Set, T>;
};
using products::Avx2;
using products::Avx512;
using products::Baseline;

struct ThreadsScope {
  int before = gradus::num_threads();
  explicit ThreadsScope(int n) { gradus::set_num_threads(n); }
  ~ThreadsScope() { gradus::set_num_threads(before); }
};

}  // namespace

TEMPLATE_TEST_CASE("every backend and SIMD level agrees with a plain loop", "[kernel]", float,
                   double) {
  const auto& [m, n, k] = GENERATE(values<std::array<int64_t, 3>>({{1, 1, 1},
                                                                   {2, 3, 4},
                                                                   {7, 5, 3},
                                                                   {17, 33, 19},
                                                                   {9, 8, 1},
                                                                   {65, 71, 1},
                                                                   {1, 40, 30},
                                                                   {40, 1, 30},
                                                                   {1, 1, 50},
                                                                   {3, 130, 67},
                                                                   {8, 37, 100},
                                                                   {131, 4, 67},
                                                                   {131, 3, 129},
                                                                   {5, 3, 0}}));
  check_options<TestType>(m, n, k);
}

// Sizes below one tile, exactly one tile, one more along each axis, and several tiles.
TEMPLATE_TEST_CASE("matmuls agree with a plain loop at tile edges", "", (TileOf<Avx512, float>),
                   (TileOf<Avx512, double>), (TileOf<Avx2, float>), (TileOf<Avx2, double>),
                   (TileOf<Baseline, float>), (TileOf<Baseline, double>)) {
  using T = typename TestType::Number;
  using P = typename TestType::Tile;
  const int64_t rows = P::rows, columns = P::columns;
  check_options<T>(rows, columns, 16);
  check_options<T>(rows + 1, columns + 1, 17);
  check_options<T>(rows - 1, columns - 1, 5);
  check_options<T>(3 * rows + 5, 2 * columns + 7, 31);
  check_options<T>(6 * rows, columns / 2, 9);  // a tile of one vector; B is packed
  for (int64_t left = 1; left < rows; ++left)
    check<T>({5 * rows + left, columns + left, 9, true, true, 1, 1});
}

// More terms than one pass sums, and more columns than one panel packs.
TEMPLATE_TEST_CASE("long sums and wide matmuls agree with a plain loop", "",
                   (TileOf<Avx512, float>), (TileOf<Avx512, double>), (TileOf<Avx2, float>),
                   (TileOf<Avx2, double>), (TileOf<Baseline, float>), (TileOf<Baseline, double>)) {
  using T = typename TestType::Number;
  using P = typename TestType::Tile;
  for (const bool t : {false, true}) {
    check<T>({2 * P::rows, P::columns, 2 * P::depth + 1, t, t, T(-0.75), 2, true, true});
    check<T>({2 * P::rows, P::columns, 2 * P::depth + 1, t, !t});
    check<T>({9, P::panel_columns + 3, P::depth + 3, t, !t, 1, 1, true, true});
    check<T>({6 * P::rows, P::panel_columns + 3, 7, t, !t, 1, 1, true, true});
  }
}

TEMPLATE_TEST_CASE("matmuls split among threads agree with a plain loop in every backend",
                   "[kernel]", float, double) {
  using T = TestType;
  const auto& [m, n, k] = GENERATE(values<std::array<int64_t, 3>>({{211, 67, 83},
                                                                   {67, 211, 83},
                                                                   {1, 701, 503},
                                                                   {701, 1, 503},
                                                                   {1030, 3, 350},
                                                                   {131, 1100, 8}}));
  const auto at_any_number_of_threads = [](const Case<T>& s) {
    const Expected<T> expected(s);
    for (const int threads : {1, 2, 3}) {
      const ThreadsScope scope(threads);
      for (const products::Choice& choice : every_choice()) {
        CAPTURE(choice.reason, threads, s.m, s.n, s.k, s.ta, s.tb);
        CHECK(expected.wrong(choice) == 0);
      }
    }
  };
  at_any_number_of_threads({m, n, k, false, true, 1, 0, true, true});
  at_any_number_of_threads({m, n, k, true, true, T(0.5), 1, true, false});
}

// 40 rows split into slabs of 32 and 8, or 16 and 8; 70 rows into 32, 32 and 6.
TEST_CASE("the built-in matmul gives the same bits for any number of threads", "[kernel]") {
  for (const auto& [m, n, k] :
       std::vector<std::array<int64_t, 3>>{{300, 90, 570}, {40, 40, 1000}, {70, 30, 1100}})
    for (const products::Choice& choice : every_choice()) {
      if (choice.backend != products::Backend::own) continue;
      const auto a = numbers<float>(m * k, 1), b = numbers<float>(n * k, 2);
      const products::Matrix<const float> left(a.data(), m, k), right(b.data(), n, k);
      std::vector<float> first(static_cast<std::size_t>(m * n)), again(first.size());
      multiply_by(choice, products::Matrix<float>(first.data(), m, n), left, right.transpose(),
                  {.threads = products::Threads::one});
      for (const int threads : {1, 2, 3, 4, 4, 4}) {
        const ThreadsScope scope(threads);
        multiply_by(choice, products::Matrix<float>(again.data(), m, n), left, right.transpose());
        CAPTURE(choice.reason, threads, m, n, k);
        REQUIRE(first == again);
      }
    }
}

TEST_CASE("a matrix-vector product with transposed A applies alpha, beta, bias and residual",
          "[kernel]") {
  for (const products::Choice& choice : every_choice())
    for (const int64_t m : {int64_t{1}, int64_t{7}, int64_t{67}}) {
      const int64_t k = 41;
      const auto a = numbers<double>(k * m, 1), b = numbers<double>(k, 2),
                 old = numbers<double>(m, 3), residual = numbers<double>(3 * m, 4);
      const double bias = 0.375;
      for (const auto& [adds_bias, apart] :
           {std::pair{false, 1}, {true, 1}, {false, 2}, {false, 3}}) {
        std::vector<double> c = old;
        products::Options<double> options{.alpha = 1.5, .beta = -2};
        options.residual = {residual.data(), m, 1, products::Stride{apart}};
        if (adds_bias) options.bias = &bias;
        multiply_by(choice, products::Matrix<double>(c.data(), m, 1),
                    products::Matrix<const double>(a.data(), k, m).transpose(), {b.data(), k, 1},
                    options);
        CAPTURE(choice.reason, m, adds_bias, apart);
        for (int64_t i = 0; i < m; ++i) {
          const auto at = static_cast<std::size_t>(i);
          double sum = 0;
          for (int64_t p = 0; p < k; ++p)
            sum += a[static_cast<std::size_t>(p * m + i)] * b[static_cast<std::size_t>(p)];
          const double expected = 1.5 * sum - 2 * old[at] +
                                  residual[at * static_cast<std::size_t>(apart)] +
                                  (adds_bias ? bias : 0);
          REQUIRE(std::abs(c[at] - expected) <= gradus::tests::product_tolerance(k, 1.5));
        }
      }
    }
}

// Rows that are gathered first and exceed the stack buffer.
TEST_CASE("few rows or columns with long sums agree with a plain loop", "[kernel]") {
  check<double>({8, 9, 1100, true, true});
  check<double>({9, 4, 1100, false, false});
  check<float>({4, 5, 2100, true, true, 1, 1});
  check<float>({5, 4, 2100, false, false, 1, 1});
}

TEST_CASE("NaN and infinity stay in their rows and columns in every backend", "[kernel]") {
  for (const products::Choice& choice : every_choice())
    for (const int64_t m : {int64_t{3}, int64_t{30}, int64_t{120}}) {
      const int64_t n = 70, k = 20;
      auto a = numbers<double>(m * k, 1), b = numbers<double>(k * n, 2);
      a[static_cast<std::size_t>((m - 1) * k + 3)] = std::numeric_limits<double>::quiet_NaN();
      b[7 * 70 + 41] = std::numeric_limits<double>::infinity();  // column 41
      std::vector<double> c(static_cast<std::size_t>(m * n));
      multiply_by(choice, products::Matrix<double>(c.data(), m, n), {a.data(), m, k},
                  {b.data(), k, n});
      CAPTURE(choice.reason, m);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
          REQUIRE(std::isfinite(c[static_cast<std::size_t>(i * n + j)]) == (i != m - 1 && j != 41));
    }
}

// The matrices end where their memory ends, so the address sanitizer detects reads beyond them.
TEST_CASE("no backend reads or writes beyond its matrices", "[kernel]") {
  for (const products::Choice& choice : every_choice())
    for (const auto& [m, n] : std::vector<std::pair<int64_t, int64_t>>{
             {31, 45}, {95, 45}, {3, 45}, {95, 3}, {31, 64}, {1, 64}})
      for (const bool ta : {false, true})
        for (const bool tb : {false, true}) {
          const int64_t k = 19;
          const auto a = numbers<float>(m * k, 1), b = numbers<float>(k * n, 2);
          std::vector<float> c(static_cast<std::size_t>(m * n) + 64, 7.0F);
          const products::Matrix<const float> left(a.data(), ta ? k : m, ta ? m : k),
              right(b.data(), tb ? n : k, tb ? k : n);
          multiply_by(choice, products::Matrix<float>(c.data(), m, n), ta ? left.transpose() : left,
                      tb ? right.transpose() : right);
          CHECK(std::all_of(c.end() - 64, c.end(), [](float x) { return x == 7.0F; }));
        }
}

namespace {

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

TEST_CASE("block transposes write only inside their target", "[kernel]") {
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

TEMPLATE_TEST_CASE("alpha multiplies both parts of a sum that is computed in two passes",
                   "[kernel]", float, double) {
  for (const bool t : {false, true}) check<TestType>({20, 24, 300, t, t, TestType(1.5)});
}
