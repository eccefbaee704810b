// What the tests of matrix products have in common.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gradus/base/plain_gemm.h"
#include "gradus/base/random.h"

namespace gradus::tests {

/// `count` numbers in [−1/2, 1/2), others for each stream.
template <class T>
std::vector<T> numbers(std::int64_t count, std::uint32_t stream) {
  const RandomStream s{17, stream, 0};
  std::vector<T> out(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    out[static_cast<std::size_t>(i)] = static_cast<T>(s.uniform(i) - 0.5);
  return out;
}

struct Product {
  std::int64_t m, n, k;
};

/// How far two products of such numbers may differ. |a·b| ≤ 1/4, so any order of the k products and
/// sums is within k·ε/2 · k/4 of the exact sum, and two of them within twice that; alpha and beta
/// add a rounding or two of numbers below k/4 + 1.
template <class T>
T product_tolerance(std::int64_t products, T alpha) {
  const auto k = static_cast<T>(products);
  return std::numeric_limits<T>::epsilon() * (std::abs(alpha) * k * k / 4 + k + 4);
}

/// How many numbers of C are further from the plain loop's than that, the gaps between rows
/// included. multiply is called as blas::gemm is.
template <class T, class Multiply>
int wrong_numbers(const Product& s, bool ta, bool tb, T alpha, T beta, Multiply&& multiply) {
  const std::int64_t lda = (ta ? s.m : s.k) + 3, ldb = (tb ? s.k : s.n) + 2, ldc = s.n + 1;
  const auto a = numbers<T>((ta ? s.k : s.m) * lda, 1), b = numbers<T>((tb ? s.n : s.k) * ldb, 2);
  auto c = numbers<T>(s.m * ldc, 3);
  auto expected = c;
  blas::plain_gemm(ta, tb, s.m, s.n, s.k, alpha, a.data(), lda, b.data(), ldb, beta,
                   expected.data(), ldc);
  multiply(ta, tb, s.m, s.n, s.k, alpha, a.data(), lda, b.data(), ldb, beta, c.data(), ldc);
  const T tolerance = product_tolerance<T>(s.k, alpha);
  int wrong = 0;
  for (std::size_t i = 0; i < c.size(); ++i) wrong += !(std::abs(c[i] - expected[i]) <= tolerance);
  return wrong;
}

}  // namespace gradus::tests
