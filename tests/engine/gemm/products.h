// A matmul with all its options, and its expected result from naive loops.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/engine/base/simd.h"
#include "gradus/engine/gemm/backend.h"
#include "gradus/engine/gemm/library.h"

namespace gradus::tests {

/// Returns `count` values in [−1/2, 1/2), different for each stream.
template <class T>
std::vector<T> numbers(std::int64_t count, std::uint32_t stream) {
  const RandomStream s{17, stream, 0};
  std::vector<T> out(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    out[static_cast<std::size_t>(i)] = static_cast<T>(s.uniform(i) - 0.5);
  return out;
}

inline std::vector<gemm::Choice> every_choice() {
  using gemm::Backend;
  std::vector<gemm::Choice> out{{Backend::plain, simd::Level::baseline, "plain"}};
  for (const simd::Level level : {simd::Level::baseline, simd::Level::avx2, simd::Level::avx512})
    if (level <= simd::widest())
      out.push_back({Backend::builtin, level, std::string(simd::name(level))});
  if (gemm::linked_library() != gemm::Library::none)
    out.push_back({Backend::library, simd::Level::baseline, "library"});
  return out;
}

/// C [m, n] = alpha · A B + beta · C + bias + residual, with gaps between rows.
template <class T>
struct Case {
  std::int64_t m, n, k;
  bool ta = false, tb = false;
  T alpha = 1, beta = 0;
  bool bias = false, residual = false;

  std::int64_t a_stride() const { return (ta ? m : k) + 3; }
  std::int64_t b_stride() const { return (tb ? k : n) + 2; }
  std::int64_t c_stride() const { return n + 1; }

  std::vector<T> a() const { return numbers<T>((ta ? k : m) * a_stride(), 1); }
  std::vector<T> b() const { return numbers<T>((tb ? n : k) * b_stride(), 2); }
  std::vector<T> c() const { return numbers<T>(m * c_stride(), 3); }

  gemm::Matrix<const T> left(const std::vector<T>& a) const {
    const gemm::Stride stride{a_stride()};
    if (ta) return gemm::Matrix<const T>(a.data(), k, m, stride).transpose();
    return {a.data(), m, k, stride};
  }
  gemm::Matrix<const T> right(const std::vector<T>& b) const {
    const gemm::Stride stride{b_stride()};
    if (tb) return gemm::Matrix<const T>(b.data(), n, k, stride).transpose();
    return {b.data(), k, n, stride};
  }
};

/// |a·b| ≤ 1/4, so rounding k products and their sums, in any order, causes an error of at most
/// k·ε/2 · k/4. Results of two orders differ by at most twice that. alpha, beta, bias and residual
/// each add one rounding error of values below k/4 + 3.
template <class T>
T product_tolerance(std::int64_t products, T alpha) {
  const auto k = static_cast<T>(products);
  return std::numeric_limits<T>::epsilon() * (std::abs(alpha) * k * k / 4 + 2 * k + 12);
}

template <class T>
std::vector<T> expected_product(const Case<T>& s, const std::vector<T>& a, const std::vector<T>& b,
                                const std::vector<T>& c, const std::vector<T>& bias,
                                const std::vector<T>& residual) {
  std::vector<T> out = c;
  const auto at = [](const std::vector<T>& x, std::int64_t i) {
    return x[static_cast<std::size_t>(i)];
  };
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.n; ++j) {
      double sum = 0;
      for (std::int64_t p = 0; p < s.k; ++p)
        sum += double(at(a, s.ta ? p * s.a_stride() + i : i * s.a_stride() + p)) *
               double(at(b, s.tb ? j * s.b_stride() + p : p * s.b_stride() + j));
      sum *= double(s.alpha);
      if (s.beta != 0) sum += double(s.beta) * double(at(c, i * s.c_stride() + j));
      if (s.bias) sum += double(at(bias, j));
      if (s.residual) sum += double(at(residual, i * (s.n + 5) + j));
      out[static_cast<std::size_t>(i * s.c_stride() + j)] = static_cast<T>(sum);
    }
  return out;
}

template <class T>
class Expected {
 public:
  explicit Expected(const Case<T>& one) : s(one) {
    for (std::int64_t i = 0; s.beta == 0 && i < s.m; ++i)  // with beta = 0, C must not be read
      for (std::int64_t j = 0; j < s.n; ++j)
        c_[static_cast<std::size_t>(i * s.c_stride() + j)] = std::numeric_limits<T>::quiet_NaN();
  }

  /// Returns the number of wrong elements in C and in the gaps between its rows.
  int wrong(const gemm::Choice& choice) const {
    std::vector<T> c = c_;
    gemm::Options<T> options{.alpha = s.alpha, .beta = s.beta};
    if (s.bias) options.bias = bias_.data();
    if (s.residual) options.residual = {residual_.data(), s.m, s.n, gemm::Stride{s.n + 5}};
    multiply_by(choice, gemm::Matrix<T>(c.data(), s.m, s.n, gemm::Stride{s.c_stride()}), s.left(a_),
                s.right(b_), options);
    const T tolerance = product_tolerance<T>(s.k, s.alpha);
    int wrong = 0;
    for (std::size_t i = 0; i < c.size(); ++i)
      wrong += !(std::abs(c[i] - expected_[i]) <= tolerance);
    return wrong;
  }

  const Case<T> s;

 private:
  std::vector<T> a_ = s.a(), b_ = s.b(), c_ = s.c();
  std::vector<T> bias_ = numbers<T>(s.n, 4), residual_ = numbers<T>(s.m * (s.n + 5), 5);
  std::vector<T> expected_ = expected_product(s, a_, b_, c_, bias_, residual_);
};

}  // namespace gradus::tests
