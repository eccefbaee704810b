// BLAS against the plain loop: every transpose, odd sizes, slabs, empty and NaN-filled operands.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gradus/base/blas.h"
#include "gradus/base/error.h"
#include "gradus/base/parallel.h"
#include "gradus/base/plain_gemm.h"
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
void compare(const Product& s, bool ta, bool tb, T alpha, T beta, bool serial) {
  CAPTURE(s.m, s.n, s.k, ta, tb, alpha, beta, serial);
  const auto gemm = serial ? &blas::gemm_serial<T> : &blas::gemm<T>;
  CHECK(wrong_numbers(s, ta, tb, alpha, beta, gemm) == 0);
}

template <class T>
void compare_all(const Product& s) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const T beta : {T{0}, T{1}, T(-0.5)})
        for (const bool serial : {false, true})
          compare<T>(s, ta, tb, beta == 1 ? T(1.5) : T{1}, beta, serial);
}

/// gemm_plus against the plain loop, which adds to what bias and residual make of C. C is NaN
/// before: it must not be read.
template <class T>
void compare_plus(const Product& s, bool ta, bool tb, bool has_bias, bool has_residual) {
  CAPTURE(s.m, s.n, s.k, ta, tb, has_bias, has_residual);
  const int64_t lda = (ta ? s.m : s.k) + 3, ldb = (tb ? s.k : s.n) + 2, ldc = s.n + 1;
  const auto a = numbers<T>((ta ? s.k : s.m) * lda, 1), b = numbers<T>((tb ? s.n : s.k) * ldb, 2);
  const auto bias = numbers<T>(s.n, 3), residual = numbers<T>(s.m * ldc, 4);
  std::vector<T> c(residual.size(), std::numeric_limits<T>::quiet_NaN()), expected(c.size());
  const std::size_t n = static_cast<std::size_t>(s.n);
  for (std::size_t i = 0; i < c.size(); ++i)
    expected[i] =
        (has_residual ? residual[i] : 0) + (has_bias && i % (n + 1) < n ? bias[i % (n + 1)] : 0);
  blas::plain_gemm(ta, tb, s.m, s.n, s.k, T{1}, a.data(), lda, b.data(), ldb, T{1}, expected.data(),
                   ldc);
  blas::gemm_plus<T>(ta, tb, s.m, s.n, s.k, a.data(), lda, b.data(), ldb,
                     has_bias ? bias.data() : nullptr, has_residual ? residual.data() : nullptr,
                     c.data(), ldc);
  int wrong = 0;
  for (std::size_t i = 0; i < c.size(); ++i)
    wrong += i % (n + 1) == n ? !std::isnan(c[i])  // between two rows
                              : !(std::abs(c[i] - expected[i]) <= product_tolerance<T>(s.k, 1));
  CHECK(wrong == 0);
}

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const gradus::ValueError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("products agree with the plain loop") {
  for (const Product& s :
       {Product{1, 1, 1}, Product{2, 3, 4}, Product{7, 5, 3}, Product{17, 33, 19},
        Product{64, 64, 64}, Product{65, 31, 70}, Product{1, 40, 30}, Product{40, 1, 30},
        Product{1, 1, 50}, Product{9, 8, 1}}) {
    compare_all<float>(s);
    compare_all<double>(s);
  }
}

TEST_CASE("products that are split into slabs agree with the plain loop") {
  const int before = gradus::num_threads();
  for (const int threads : {1, 2, 3}) {
    gradus::set_num_threads(threads);
    for (const Product& s : {Product{211, 67, 83}, Product{67, 211, 83}, Product{1, 701, 503},
                             Product{701, 1, 503}, Product{1030, 3, 350}, Product{290, 150, 70}}) {
      for (const bool ta : {false, true})
        for (const bool tb : {false, true}) {
          compare<float>(s, ta, tb, 1.0F, 0.0F, false);
          compare<double>(s, ta, tb, 0.5, 1.0, false);
        }
    }
  }
  gradus::set_num_threads(before);
}

TEST_CASE("a product with bias and residual agrees with the plain loop") {
  const int before = gradus::num_threads();
  for (const int threads : {1, 3}) {
    gradus::set_num_threads(threads);
    for (const Product& s :
         {Product{7, 5, 3}, Product{1, 40, 30}, Product{40, 1, 30}, Product{5, 3, 0},
          Product{431, 67, 83}, Product{131, 421, 83}, Product{131, 1100, 8}})
      for (const int adds : {0, 1, 2, 3})
        for (const bool transpose : {false, true}) {
          compare_plus<float>(s, transpose, !transpose, (adds & 1) != 0, (adds & 2) != 0);
          compare_plus<double>(s, transpose, transpose, (adds & 1) != 0, (adds & 2) != 0);
        }
  }
  gradus::set_num_threads(before);
}

TEST_CASE("a split product has the same bits when it is run again") {
  const int before = gradus::num_threads();
  gradus::set_num_threads(2);
  const int64_t m = 300, n = 90, k = 70;
  const auto a = numbers<float>(m * k, 1), b = numbers<float>(k * n, 2);
  std::vector<float> first(static_cast<std::size_t>(m * n)), again(first.size());
  blas::gemm(false, false, m, n, k, 1.0F, a.data(), k, b.data(), n, 0.0F, first.data(), n);
  for (int run = 0; run < 20; ++run) {
    blas::gemm(false, false, m, n, k, 1.0F, a.data(), k, b.data(), n, 0.0F, again.data(), n);
    REQUIRE(first == again);
  }
  gradus::set_num_threads(before);
}

TEST_CASE("products may be called inside parallel_for") {
  const int before = gradus::num_threads();
  gradus::set_num_threads(3);
  const int64_t d = 110;  // large enough to be split, were it called from outside
  const auto a = numbers<double>(d * d, 1), b = numbers<double>(d * d, 2);
  std::vector<double> expected(static_cast<std::size_t>(d * d));
  blas::gemm_serial(false, true, d, d, d, 1.0, a.data(), d, b.data(), d, 0.0, expected.data(), d);
  std::vector<std::vector<double>> results(6, std::vector<double>(expected.size()));
  gradus::parallel_for(6, 1, [&](int64_t begin, int64_t) {
    auto& c = results[static_cast<std::size_t>(begin)];
    blas::gemm(false, true, d, d, d, 1.0, a.data(), d, b.data(), d, 0.0, c.data(), d);
  });
  // An OpenBLAS built with OpenMP uses threads of its own outside of a team, and so adds in
  // another order: 110 additions of at most 28, each way.
  for (const auto& c : results) {
    CHECK(c == results[0]);
    for (std::size_t i = 0; i < c.size(); ++i) REQUIRE(std::abs(c[i] - expected[i]) <= 7e-13);
  }
  gradus::set_num_threads(before);
}

TEST_CASE("beta 0 overwrites NaN, other betas keep it, NaN in A arrives in C") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Product& s : {Product{4, 5, 6}, Product{1, 5, 6}, Product{4, 1, 6}, Product{4, 5, 0},
                           Product{200, 90, 70}}) {
    for (const bool t : {false, true}) {
      CAPTURE(s.m, s.n, s.k, t);
      auto a = numbers<float>(s.m * s.k + 1, 1);
      const auto b = numbers<float>(s.k * s.n + 1, 2);
      std::vector<float> c(static_cast<std::size_t>(s.m * s.n), nan);
      const int64_t lda = t ? s.m : s.k, ldb = t ? s.k : s.n;
      const auto not_a_number = [&] {
        std::size_t n = 0;
        for (const float x : c) n += std::isnan(x);
        return n;
      };
      blas::gemm(t, t, s.m, s.n, s.k, 1.0F, a.data(), lda, b.data(), ldb, 0.0F, c.data(), s.n);
      CHECK(not_a_number() == 0);
      if (s.k > 0) {
        a[0] = nan;  // op(A)[0, 0], so the first row of C
        blas::gemm(t, t, s.m, s.n, s.k, 1.0F, a.data(), lda, b.data(), ldb, 0.0F, c.data(), s.n);
        CHECK(not_a_number() == static_cast<std::size_t>(s.n));
      }
      c.assign(c.size(), nan);
      blas::gemm(t, t, s.m, s.n, s.k, 1.0F, a.data(), lda, b.data(), ldb, 1.0F, c.data(), s.n);
      CHECK(not_a_number() == c.size());
    }
  }
}

TEST_CASE("empty products: nothing to write, or k = 0 scales C") {
  std::vector<double> c{1, 2, 3, 4, 5, 6};
  const auto same = c;
  const double* none = nullptr;
  blas::gemm(false, false, 0, 3, 2, 1.0, none, 2, none, 3, 0.0, c.data(), 3);
  blas::gemm(false, false, 2, 0, 2, 1.0, none, 2, none, 0, 0.0, c.data(), 0);
  CHECK(c == same);
  blas::gemm(false, false, 2, 3, 0, 1.0, none, 0, none, 3, 2.0, c.data(), 3);
  CHECK(c == std::vector<double>{2, 4, 6, 8, 10, 12});
  blas::gemm_serial(true, true, 2, 3, 0, 1.0, none, 0, none, 0, 0.0, c.data(), 3);
  CHECK(c == std::vector<double>(6, 0.0));
}

TEST_CASE("sizes that BLAS cannot count or that do not fit are named") {
  std::vector<float> x(64);
  const auto run = [&](int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc) {
    return message_of([&] {
      blas::gemm(false, false, m, n, k, 1.0F, x.data(), lda, x.data(), ldb, 0.0F, x.data(), ldc);
    });
  };
  const int64_t large = int64_t{1} << 31;
  const auto starts = [](const std::string& text, const std::string& with) {
    return text.compare(0, with.size(), with) == 0;
  };
  CHECK(starts(run(large, 1, 1, 1, 1, 1), "gemm: m is 2147483648"));
  CHECK(starts(run(1, large, 1, 1, large, large), "gemm: n is 2147483648"));
  CHECK(starts(run(1, 1, large, large, 1, 1), "gemm: k is 2147483648"));
  CHECK(starts(run(1, 1, 1, large, 1, 1), "gemm: lda is 2147483648"));
  CHECK(run(large, 1, 1, 1, 1, 1).find("32 bits") != std::string::npos);
  CHECK(starts(run(-1, 2, 2, 2, 2, 2), "gemm: m is -1"));
  CHECK(starts(run(2, 2, 3, 2, 2, 2), "gemm: lda is 2, not between 3"));
  CHECK(starts(run(2, 3, 2, 2, 2, 3), "gemm: ldb is 2, not between 3"));
  CHECK(starts(run(2, 3, 2, 2, 3, 2), "gemm: ldc is 2, not between 3"));
  CHECK(run(2, 2, 2, 2, 2, 2) == "");
}

TEST_CASE("config can say what is behind the products") {
  const float one = 1;
  float c = 0;
  blas::gemm(false, false, 1, 1, 1, 2.0F, &one, 1, &one, 1, 0.0F, &c, 1);
  CHECK(c == 2);
  CHECK_FALSE(blas::describe().empty());
}
