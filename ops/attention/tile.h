// The row kernels of kernel.cpp: what happens to a block of scores between the products.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "gradus/base/simd.h"
#include "gradus/base/vmath.h"

namespace gradus::kernel {

template <class T>
GRADUS_INLINE void hide_row(T* scores, const bool* allowed, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) {
    const T score = scores[j];  // read in any case: no branch
    scores[j] = allowed[j] ? score : -std::numeric_limits<T>::infinity();
  }
}

/// One step of a running softmax, for each row of scores [rows, n]: m' = max(m, max s),
/// s = exp(s − m'), l' = l·keep + Σ s, where keep = exp(m − m') is what earlier weights are worth.
/// The maximum may miss a NaN: exp makes one of it all the same.
template <class T>
GRADUS_INLINE void softmax_rows(T* scores, std::int64_t rows, std::int64_t n, T* m, T* l, T* keep) {
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  for (std::int64_t r = 0; r < rows; ++r) {
    T* row = scores + r * n;
    const T highest = vmath::fold_of<T>(
        n, m[r], [=](std::int64_t j) { return row[j]; }, [](T a, T b) { return a < b ? b : a; });
    const T shift = highest == kNone ? T{0} : highest;  // nothing seen yet: exp(−∞) = 0, not NaN
    keep[r] = m[r] == kNone ? T{0} : std::exp(m[r] - shift);
    l[r] = l[r] * keep[r] +
           vmath::sum_of<T>(n, [=](std::int64_t j) { return row[j] = vmath::exp(row[j] - shift); });
    m[r] = highest;
  }
}

template <class T>
GRADUS_INLINE void scale_row(T* row, std::int64_t n, T factor) {
  for (std::int64_t j = 0; j < n; ++j) row[j] *= factor;
}

template <class T>
GRADUS_INLINE void add_row(T* row, const T* more, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) row[j] += more[j];
}

template <class T>
GRADUS_INLINE void drop_row(T* row, const std::uint32_t* words, std::int64_t n,
                            std::uint32_t threshold, T scale) {
  for (std::int64_t j = 0; j < n; ++j) {
    const T kept = row[j] * scale;
    row[j] = words[j] >= threshold ? kept : T{0};
  }
}

/// d[r] = a[r]·b[r] for rows of n, `step_a` and `step_b` apart.
template <class T>
GRADUS_INLINE void dot_rows(const T* a, std::int64_t step_a, const T* b, std::int64_t step_b,
                            std::int64_t rows, std::int64_t n, T* d) {
  for (std::int64_t r = 0; r < rows; ++r) d[r] = vmath::dot(a + r * step_a, b + r * step_b, n);
}

/// p = exp(s − lse), ds = p (dp − d); with dropout the weights that met v were p·z.
template <class T>
GRADUS_INLINE void weights_rows_backward(T* p, T* dp, std::int64_t rows, std::int64_t n,
                                         const T* lse, const T* d) {
  for (std::int64_t r = 0; r < rows; ++r, p += n, dp += n)
    for (std::int64_t j = 0; j < n; ++j) {
      p[j] = vmath::exp(p[j] - lse[r]);
      dp[j] = p[j] * (dp[j] - d[r]);
    }
}

template <class T>
GRADUS_INLINE void dropped_row_backward(T* p, T* dp, std::int64_t n, T lse, T d,
                                        const std::uint32_t* words, std::uint32_t threshold,
                                        T scale) {
  for (std::int64_t j = 0; j < n; ++j) {
    const T weight = vmath::exp(p[j] - lse), z = words[j] >= threshold ? scale : T{0};
    p[j] = weight * z;
    dp[j] = weight * (dp[j] * z - d);
  }
}

}  // namespace gradus::kernel
