// Kernels of attention's rows against plain loops: any length beside the width of vectors, rows
// that lie apart, with NaN in what does not belong to them.
#include <cmath>
#include <limits>
#include <memory>

#include "gradus/ops/attention/row_kernels.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing {
namespace {

constexpr std::int64_t kLengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33};

template <class T>
T number(std::int64_t i) {
  return static_cast<T>((i * i * 7 + i * 3) % 23 - 11) / T{8};
}

/// Rows of n numbers, `stride` apart, and NaN between them.
template <class T>
std::vector<T> rows_of(std::int64_t rows, std::int64_t n, std::int64_t stride) {
  std::vector<T> all(std::size_t(rows * stride), std::numeric_limits<T>::quiet_NaN());
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < n; ++j) all[std::size_t(r * stride + j)] = number<T>(r * n + j);
  return all;
}

template <class T>
bool near(T a, double b) {
  const double least = std::is_same_v<T, float> ? 1e-5 : 1e-13;  // sums of 33 terms of order 1
  return std::isinf(b) ? static_cast<double>(a) == b
                       : std::abs(static_cast<double>(a) - b) <= least * (1 + std::abs(b));
}

/// Two pieces of a row, one after the other, as a running softmax sees them.
template <class T>
void check_softmax() {
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  for (const std::int64_t n : kLengths)
    for (const bool hidden : {false, true}) {
      CAPTURE(n, hidden, sizeof(T));
      std::vector<T> first = rows_of<T>(2, n, n), second = rows_of<T>(2, n, n), both[2];
      for (T& each : second) each *= 3;
      if (hidden) std::fill_n(first.begin(), n, kNone);  // the first row's first piece
      for (std::int64_t r = 0; r < 2; ++r)
        for (const std::vector<T>* piece : {&first, &second})
          both[r].insert(both[r].end(), piece->begin() + r * n, piece->begin() + (r + 1) * n);
      T m[2] = {kNone, kNone}, l[2] = {0, 0}, keep[2] = {7, 7};
      kernel::softmax_rows<T>(first.data(), 2, n, m, l, keep);
      CHECK((keep[0] == 0 && keep[1] == 0));
      if (hidden) CHECK((m[0] == kNone && l[0] == 0 && first[0] == 0));
      const T before[2] = {m[0], m[1]};
      kernel::softmax_rows<T>(second.data(), 2, n, m, l, keep);
      for (std::int64_t r = 0; r < 2; ++r) {
        const double highest = *std::max_element(both[r].begin(), both[r].end());
        double sum = 0;
        for (const T each : both[r]) sum += std::exp(static_cast<double>(each) - highest);
        CHECK(static_cast<double>(m[r]) == highest);
        CHECK(near(l[r], sum));
        CHECK(near(keep[r], std::exp(static_cast<double>(before[r]) - highest)));
        for (std::int64_t j = 0; j < n; ++j)
          REQUIRE(near(second[std::size_t(r * n + j)],
                       std::exp(static_cast<double>(both[r][std::size_t(n + j)]) - highest)));
      }
    }
}

template <class T>
void check_others() {
  for (const std::int64_t n : kLengths) {
    CAPTURE(n, sizeof(T));
    std::vector<std::uint32_t> words;
    for (std::int64_t j = 0; j < n; ++j) words.push_back(std::uint32_t(j * j * 37 % 11));
    const kernel::DroppedRow<T> drop{words.data(), 4, T{1.25}};
    std::vector<T> p = rows_of<T>(1, n, n), dp = rows_of<T>(2, n, n), dropped = p, scaled = p;
    dp.erase(dp.begin(), dp.begin() + n);
    const std::vector<T> p0 = p, dp0 = dp;
    std::vector<T> added = p, plain = p, plain_dp = dp;
    kernel::drop_row<T>(dropped.data(), n, drop);
    kernel::scale_row<T>(scaled.data(), n, T{-3});
    kernel::add_row<T>(added.data(), dp.data(), n);
    const T lse = T{0.75}, d = T{-0.5};
    kernel::softmax_rows_backward<T>(plain.data(), plain_dp.data(), 1, n, &lse, &d);
    kernel::dropped_row_backward<T>(p.data(), dp.data(), n, lse, d, drop);
    double dot = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const auto i = std::size_t(j);
      const double z = words[i] >= 4 ? 1.25 : 0, weight = std::exp(double(p0[i]) - 0.75);
      REQUIRE(near(dropped[i], p0[i] * z));
      REQUIRE(near(scaled[i], -3.0 * p0[i]));
      REQUIRE(near(added[i], double(p0[i]) + dp0[i]));
      REQUIRE(near(plain[i], weight));
      REQUIRE(near(plain_dp[i], weight * (dp0[i] + 0.5)));
      REQUIRE(near(p[i], weight * z));
      REQUIRE(near(dp[i], weight * (dp0[i] * z + 0.5)));
      dot += double(p0[i]) * dp0[i];
    }
    const std::vector<T> a = rows_of<T>(3, n, n + 2), b = rows_of<T>(3, n, n + 5);
    T dots[3] = {};
    kernel::dot_rows<T>(a.data(), n + 2, b.data(), n + 5, 3, n, dots);
    for (std::int64_t r = 0; r < 3; ++r) {
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) sum += std::pow(double(number<T>(r * n + j)), 2);
      REQUIRE(near(dots[r], sum));
    }
    kernel::dot_rows<T>(p0.data(), n, dp0.data(), n, 1, n, dots);
    REQUIRE(near(dots[0], dot));
  }
}

template <class T>
void check_hiding() {
  for (const std::int64_t n : kLengths) {
    std::vector<T> x = rows_of<T>(3, n, n + 4);
    const std::vector<T> before = x;
    const auto allowed = std::make_unique<bool[]>(std::size_t(3 * n));
    for (std::int64_t i = 0; i < 3 * n; ++i) allowed[std::size_t(i)] = i * i % 3 != 1;
    kernel::hide_rows<T>(x.data(), n + 4, 3, n, allowed.get());
    for (std::int64_t r = 0; r < 3; ++r)
      for (std::int64_t j = 0; j < n + 4; ++j) {
        const std::size_t at = std::size_t(r * (n + 4) + j);
        if (j >= n)
          REQUIRE(std::isnan(x[at]));
        else
          REQUIRE(x[at] == (allowed[std::size_t(r * n + j)] ? before[at]
                                                            : -std::numeric_limits<T>::infinity()));
      }
  }
}

}  // namespace

TEST_CASE("a running softmax is that of both pieces, hidden ones too") {
  check_softmax<float>();
  check_softmax<double>();
}

TEST_CASE("rows are scaled, added, dropped, multiplied and differentiated number by number") {
  check_others<float>();
  check_others<double>();
}

TEST_CASE("scores are hidden where they are, and nowhere else") {
  check_hiding<float>();
  check_hiding<double>();
}

}  // namespace gradus::testing
