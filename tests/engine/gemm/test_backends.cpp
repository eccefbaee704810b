#ifdef __unix__
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/simd.h"
#include "gradus/engine/base/transpose.h"
#include "gradus/engine/gemm/backend.h"
#include "gradus/engine/gemm/tile.h"
#include "gradus/tests/engine/base/threads.h"
#include "gradus/tests/engine/gemm/products.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"

namespace gemm = gradus::gemm;
using gradus::tests::Case;
using gradus::tests::every_choice;
using gradus::tests::Expected;
using gradus::tests::numbers;
using std::int64_t;

namespace {

template <class T>
void check(const Case<T>& s) {
  const Expected<T> expected(s);
  for (const gemm::Choice& choice : every_choice()) {
    CAPTURE(choice.reason, s.m, s.n, s.k, s.ta, s.tb, s.alpha, s.beta, s.bias, s.residual);
    CHECK(expected.wrong(choice) == 0);
  }
}

/// Tests one size with every transpose and with combinations of options.
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

/// The matmul kernel's tile for one instruction set and number type.
template <class Set, class T>
struct TileOf {
  using Number = T;
  using Tile = gemm::Tile<Set, T>;
};
using gemm::Avx2;
using gemm::Avx512;
using gemm::Baseline;

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

// Tests sizes of less than a tile, one tile, one tile plus one element along each axis, and several
// tiles.
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
  check_options<T>(6 * rows, columns / 2, 9);  // tiles one vector wide, with B packed
  for (int64_t left = 1; left < rows; ++left)
    check<T>({5 * rows + left, columns + left, 9, true, true, 1, 1});
}

// The sums have more terms than the kernel adds in one pass, and the matrices have more columns
// than one packed panel of B.
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
      const gradus::tests::Threads scope(threads);
      for (const gemm::Choice& choice : every_choice()) {
        CAPTURE(choice.reason, threads, s.m, s.n, s.k, s.ta, s.tb);
        CHECK(expected.wrong(choice) == 0);
      }
    }
  };
  at_any_number_of_threads({m, n, k, false, true, 1, 0, true, true});
  at_any_number_of_threads({m, n, k, true, true, T(0.5), 1, true, false});
}

// The threads compute slabs of 32 or 16 rows of C; the last slab has the remaining rows.
TEST_CASE("the built-in matmul gives the same bits for any number of threads", "[kernel]") {
  for (const auto& [m, n, k] :
       std::vector<std::array<int64_t, 3>>{{300, 90, 570}, {40, 40, 1000}, {70, 30, 1100}})
    for (const gemm::Choice& choice : every_choice()) {
      if (choice.backend != gemm::Backend::builtin) continue;
      const auto a = numbers<float>(m * k, 1), b = numbers<float>(n * k, 2);
      const gemm::Matrix<const float> left(a.data(), m, k), right(b.data(), n, k);
      std::vector<float> first(static_cast<std::size_t>(m * n)), again(first.size());
      multiply_by(choice, gemm::Matrix<float>(first.data(), m, n), left, right.transpose(),
                  {.threads = gemm::Threads::one});
      for (const int threads : {1, 2, 3, 4, 4, 4}) {
        const gradus::tests::Threads scope(threads);
        multiply_by(choice, gemm::Matrix<float>(again.data(), m, n), left, right.transpose());
        CAPTURE(choice.reason, threads, m, n, k);
        REQUIRE(first == again);
      }
    }
}

// Tests sums so long that the rows the kernel copies exceed its stack buffer.
TEST_CASE("few rows or columns with long sums agree with a plain loop", "[kernel]") {
  check<double>({8, 9, 1100, true, true});
  check<double>({9, 4, 1100, false, false});
  check<float>({4, 5, 2100, true, true, 1, 1});
  check<float>({5, 4, 2100, false, false, 1, 1});
}

TEST_CASE("NaN and infinity stay in their rows and columns in every backend", "[kernel]") {
  for (const gemm::Choice& choice : every_choice())
    for (const int64_t m : {int64_t{3}, int64_t{30}, int64_t{120}}) {
      const int64_t n = 70, k = 20;
      auto a = numbers<double>(m * k, 1), b = numbers<double>(k * n, 2);
      a[static_cast<std::size_t>((m - 1) * k + 3)] = std::numeric_limits<double>::quiet_NaN();
      b[7 * 70 + 41] = std::numeric_limits<double>::infinity();  // changes column 41 of C
      std::vector<double> c(static_cast<std::size_t>(m * n));
      multiply_by(choice, gemm::Matrix<double>(c.data(), m, n), {a.data(), m, k}, {b.data(), k, n});
      CAPTURE(choice.reason, m);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
          REQUIRE(std::isfinite(c[static_cast<std::size_t>(i * n + j)]) == (i != m - 1 && j != 41));
    }
}

#ifdef __unix__
// Places matrices next to inaccessible pages.
namespace {

template <class T>
class Fenced {
 public:
  Fenced(const std::vector<T>& numbers, bool at_end) : size(numbers.size()) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t bytes = size * sizeof(T), inner = (bytes + page - 1) / page * page;
    whole_ = inner + 2 * page;
    place_ = ::mmap(nullptr, whole_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(place_ != MAP_FAILED);
    char* first = static_cast<char*>(place_) + page;
    REQUIRE(::mprotect(first, inner, PROT_READ | PROT_WRITE) == 0);
    data = reinterpret_cast<T*>(first + (at_end ? inner - bytes : 0));
    std::copy(numbers.begin(), numbers.end(), data);
  }
  ~Fenced() { ::munmap(place_, whole_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;

  std::size_t size;
  T* data;

 private:
  void* place_;
  std::size_t whole_;
};

template <class T>
void check_product(int64_t m, int64_t n, int64_t k, bool ta, bool tb, bool at_end) {
  const Fenced<T> a(numbers<T>(m * k, 1), at_end), b(numbers<T>(k * n, 2), at_end),
      residual(numbers<T>(m * n, 3), at_end), bias(numbers<T>(n, 4), at_end);
  const gemm::Matrix<const T> left(a.data, ta ? k : m, ta ? m : k),
      right(b.data, tb ? n : k, tb ? k : n);
  std::vector<T> expected;
  for (const gemm::Choice& choice : every_choice()) {
    const Fenced<T> c(std::vector<T>(static_cast<std::size_t>(m * n), T(7)), at_end);
    multiply_by(choice, gemm::Matrix<T>(c.data, m, n), ta ? left.transpose() : left,
                tb ? right.transpose() : right,
                {.bias = bias.data, .residual = {residual.data, m, n}});
    if (expected.empty()) expected.assign(c.data, c.data + c.size);  // the plain backend runs first
    int wrong = 0;
    for (std::size_t i = 0; i < c.size; ++i)
      wrong += !(std::abs(c.data[i] - expected[i]) <= gradus::tests::product_tolerance(k, T(1)));
    CAPTURE(choice.reason, m, n, k, ta, tb, at_end);
    CHECK(wrong == 0);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("matmuls touch nothing outside their matrices", "", float, double) {
  for (const int64_t m : {1, 3, 31, 67})
    for (const int64_t n : {1, 4, 45, 64})
      for (const int64_t k : {5, 24, 41})
        for (int options = 0; options < 8; ++options)
          check_product<TestType>(m, n, k, options % 2 != 0, options / 2 % 2 != 0, options >= 4);
}

TEMPLATE_TEST_CASE("transposes with gaps between rows write only inside their target", "[kernel]",
                   float, double) {
  for (const int64_t rows : {1, 7, 8, 15, 16, 17, 40})
    for (const int64_t width : {1, 8, 9, 23, 24})
      for (const int64_t gap : {0, 3})
        for (const bool at_end : {false, true}) {
          const int64_t row = width + gap, apart = rows + gap;
          const auto x = numbers<TestType>((rows - 1) * row + width, 1);
          const auto size = static_cast<std::size_t>((width - 1) * apart + rows);
          const Fenced<TestType> from(x, at_end), to(std::vector<TestType>(size, 7), at_end);
          gradus::kernel::transpose(from.data, row, rows, width, to.data, apart);
          int64_t wrong = 0;
          for (int64_t i = 0; i < static_cast<int64_t>(size); ++i)
            wrong += to.data[i] !=
                     (i % apart < rows ? from.data[i % apart * row + i / apart] : TestType{7});
          CAPTURE(rows, width, gap, at_end);
          CHECK(wrong == 0);
        }
}
#endif

TEST_CASE("the linked library and GRADUS_BLAS select the matmul backend") {
  using gemm::Backend, gemm::Library, gemm::choice_of, gradus::ValueError;
  if (gemm::chosen().backend == Backend::plain) {  // the build selects this backend
    CHECK(choice_of("", Library::openblas).backend == Backend::plain);
    return;
  }
  const Backend beside_openblas = GRADUS_HAS_LEVELS ? Backend::builtin : Backend::library;
  for (const auto& [library, backend] : {std::pair{Library::none, Backend::builtin},
                                         {Library::mkl, Backend::library},
                                         {Library::blis, Backend::library},
                                         {Library::other, Backend::builtin},
                                         {Library::openblas, beside_openblas}}) {
    CAPTURE(static_cast<int>(library));
    CHECK(choice_of("", library).backend == backend);
    CHECK(choice_of("builtin", library).backend == Backend::builtin);
    for (const char* wrong : {"mkl", "Own", "library ", "0"})
      CHECK_REFUSES(ValueError, choice_of(wrong, library), wrong, "builtin", "library");
    if (library == Library::none)
      CHECK_REFUSES(ValueError, choice_of("library", library), "GRADUS_BLAS=library");
    else
      CHECK(choice_of("library", library).backend == Backend::library);
  }
}

TEST_CASE("the description of a backend includes the level and the reason for its choice") {
  const std::string own = gemm::describe({gemm::Backend::builtin, gradus::simd::Level::avx2, "so"});
  CHECK(own.find("avx2") != own.npos);
  CHECK(own.find("so") != own.npos);
  CHECK(gemm::describe() == gemm::describe(gemm::chosen()));
}
