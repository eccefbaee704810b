#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/gemm/multiply.h"
#include "gradus/tests/engine/base/threads.h"
#include "gradus/tests/engine/gemm/products.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

using gradus::gemm::Matrix;
using gradus::gemm::multiply;
using gradus::gemm::Stride;
using gradus::tests::numbers;
using std::int64_t;

using gradus::testing::message_of;

TEST_CASE("matrix views support transposes, blocks and ranges") {
  const std::vector<int> x{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23};
  const Matrix<const int> all(x.data(), 3, 4), narrow(x.data() + 1, 3, 2, Stride{4});
  CHECK(*all.at(2, 3) == 23);
  CHECK(*all.transpose().at(3, 2) == 23);
  CHECK(all.transpose().rows == 4);
  CHECK(all.transpose().stored_columns() == 4);
  CHECK(all.transpose().transpose().transposed == false);
  CHECK(*narrow.at(1, 1) == 12);
  CHECK(*all.block(1, 2, 2, 2).at(1, 0) == 22);
  CHECK(*all.transpose().block(1, 2, 2, 1).at(1, 0) == 22);
  CHECK(*all.row_range(1, 3).at(0, 0) == 10);
  CHECK(all.row_range(1, 3).rows == 2);
  CHECK(*all.transpose().column_range(2, 3).at(3, 0) == 23);
  CHECK(all.transpose().column_range(2, 3).columns == 1);
}

TEST_CASE("a matmul inside parallel_for runs on the calling thread") {
  const int before = gradus::num_threads();
  gradus::set_num_threads(3);
  const int64_t d = 110;  // large enough to use multiple threads outside a loop
  const auto a = numbers<double>(d * d, 1), b = numbers<double>(d * d, 2);
  std::vector<double> expected(static_cast<std::size_t>(d * d));
  const Matrix<const double> left(a.data(), d, d), right(b.data(), d, d);
  multiply(Matrix<double>(expected.data(), d, d), left, right.transpose(),
           {.threads = gradus::gemm::Threads::one});
  std::vector<std::vector<double>> results(6, std::vector<double>(expected.size()));
  gradus::parallel_for(6, 1, [&](int64_t begin, int64_t) {
    multiply(Matrix<double>(results[static_cast<std::size_t>(begin)].data(), d, d), left,
             right.transpose());
  });
  // Outside a parallel loop, an OpenBLAS built with OpenMP uses its own threads and adds in a
  // different order. The bound allows 110 additions of sums of at most 28 in each order.
  for (const auto& c : results) {
    CHECK(c == results[0]);
    for (std::size_t i = 0; i < c.size(); ++i) REQUIRE(std::abs(c[i] - expected[i]) <= 7e-13);
  }
  gradus::set_num_threads(before);
}

TEST_CASE("beta 0 overwrites NaN, other betas keep it, and NaN in A reaches C") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const gradus::tests::Case<float>& s :
       {gradus::tests::Case<float>{4, 5, 6}, {1, 5, 6}, {4, 1, 6}, {4, 5, 0}, {200, 90, 70}}) {
    CAPTURE(s.m, s.n, s.k);
    auto a = numbers<float>(s.m * s.k + 1, 1);
    const auto b = numbers<float>(s.k * s.n + 1, 2);
    std::vector<float> c(static_cast<std::size_t>(s.m * s.n), nan);
    const auto nans = [&](float beta) {
      multiply(Matrix<float>(c.data(), s.m, s.n), {a.data(), s.m, s.k}, {b.data(), s.k, s.n},
               {.beta = beta});
      return std::count_if(c.begin(), c.end(), [](float x) { return std::isnan(x); });
    };
    CHECK(nans(0) == 0);
    if (s.k > 0) {
      a[0] = nan;  // affects row 0 of C
      CHECK(nans(0) == s.n);
    }
    c.assign(c.size(), nan);
    CHECK(nans(1) == s.m * s.n);
  }
}

TEST_CASE("empty matmuls write nothing, and k = 0 leaves beta · C, bias and residual") {
  std::vector<double> c{1, 2, 3, 4, 5, 6};
  const auto same = c;
  const double* none = nullptr;
  multiply(Matrix<double>(c.data(), 0, 3), {none, 0, 2}, {none, 2, 3});
  multiply(Matrix<double>(c.data(), 2, 0), {none, 2, 2}, {none, 2, 0});
  CHECK(c == same);
  const Matrix<double> all(c.data(), 2, 3);
  multiply(all, {none, 2, 0}, {none, 0, 3}, {.beta = 2.0});
  CHECK(c == std::vector<double>{2, 4, 6, 8, 10, 12});
  const std::vector<double> bias{1, 2, 3};
  multiply(all, {none, 2, 0}, {none, 0, 3}, {.bias = bias.data(), .residual = {same.data(), 2, 3}});
  CHECK(c == std::vector<double>{2, 4, 6, 5, 7, 9});
}

TEST_CASE("multiply rejects mismatched sizes and strides and reports both shapes") {
  std::vector<float> x(64);
  float* p = x.data();
  using M = Matrix<float>;
  using gradus::Error;
  CHECK_REFUSES(Error, multiply(M(p, 2, 3), M(p, 2, 4), M(p, 5, 3)), "[2, 4]", "[5, 3]");
  CHECK_REFUSES(Error, multiply(M(p, 2, 3), M(p, 3, 4), M(p, 4, 3)), "[2, 3]", "[3, 4]");
  CHECK_REFUSES(Error, multiply(M(p, 2, 3), M(p, 2, 4), M(p, 4, 2)), "[2, 3]", "[4, 2]");
  CHECK_REFUSES(Error, multiply(M(p, 2, 2), M(p, 2, 3, Stride{2}), M(p, 3, 2)), "A", "2", "3");
  CHECK_REFUSES(Error, multiply(M(p, 1, 3), M(p, 1, 3, Stride{2}), M(p, 3, 3)), "A", "2", "3");
  CHECK_REFUSES(Error, multiply(M(p, 2, 2), M(p, 2, 3), M(p, 2, 3, Stride{1}).transpose()), "B");
  CHECK_REFUSES(Error, multiply(M(p, 2, 3, Stride{2}), M(p, 2, 3), M(p, 3, 3)), "C", "2", "3");
  CHECK_REFUSES(Error, multiply(M(p, -1, 3), M(p, -1, 3), M(p, 3, 3)), "-1");
  CHECK_REFUSES(Error, multiply(M(p, 2, 3), M(p, 2, -1), M(p, 3, 3)), "-1");
  CHECK_REFUSES(Error, multiply(M(p, 2, 3).transpose(), M(p, 3, 3), M(p, 3, 2)), "transpose");
  for (const M& residual :
       {M(p, 3, 2), M(p, 1, 3), M(p, 2, 2), M(p, 3, 2).transpose(), M(p, 2, 3, Stride{2})})
    CHECK_REFUSES(Error, multiply(M(p, 2, 3), M(p, 2, 3), M(p, 3, 3), {.residual = residual}));
  CHECK_NOTHROW(multiply(M(p, 0, 3), M(p, 0, 3, Stride{1}), M(p, 3, 3)));
  CHECK_NOTHROW(multiply(M(p, 2, 2), M(p + 9, 2, 2), M(p + 18, 2, 2)));
}

TEST_CASE("strides beyond 32 bits throw for a BLAS library and work in the built-in matmul") {
  std::vector<float> x(4, 1.0F);
  const int64_t large = int64_t{1} << 31;
  for (const gradus::gemm::Choice& choice : gradus::tests::every_choice()) {
    CAPTURE(choice.reason);
    const std::string message = message_of<gradus::Error>([&] {
      multiply_by(choice, Matrix<float>(&x[2], 1, 2), {&x[0], 1, 1},
                  {&x[0], 1, 2, Stride{large}});  // with one row, the stride is not used
    });
    const bool library = choice.backend == gradus::gemm::Backend::library;
    CHECK((message == "nothing was thrown") == !library);
    if (library) CHECK(message.find("2147483648") != std::string::npos);
  }
}
