#pragma once

#include <cstdint>
#include <limits>

#include "gradus/engine/base/simd.h"
#include "gradus/engine/base/vmath.h"

namespace gradus::kernel {

/// Sets scores to −∞ where `allowed` [rows, n] is false; score rows are `stride` apart.
template <class T>
GRADUS_INLINE void hide_rows(T* scores, std::int64_t stride, std::int64_t rows, std::int64_t n,
                             const bool* allowed) {
  for (std::int64_t r = 0; r < rows; ++r, scores += stride, allowed += n)
    for (std::int64_t j = 0; j < n; ++j) {
      const T score = scores[j];  // read unconditionally to avoid a branch
      scores[j] = allowed[j] ? score : -std::numeric_limits<T>::infinity();
    }
}

/// One step of the online softmax for each row of scores [rows, n]: m' = max(m, max s), s = exp(s −
/// m'), l' = l·keep + Σ s, keep = exp(m − m'). The maximum may ignore a NaN, but exp propagates it.
template <class T>
GRADUS_INLINE void online_softmax_rows(T* scores, std::int64_t rows, std::int64_t n, T* m, T* l,
                                       T* keep) {
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  for (std::int64_t r = 0; r < rows; ++r) {
    T* row = scores + r * n;
    const T highest = vmath::fold_of<T>(
        n, m[r], [=](std::int64_t j) { return row[j]; }, [](T a, T b) { return a < b ? b : a; });
    const T shift = highest == kNone ? T{0} : highest;  // avoids NaN if all scores are −∞
    keep[r] = m[r] == kNone ? T{0} : vmath::exp(m[r] - shift);
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

/// Dropout: multiplies a value by `scale`, or by 0 if its random word is below `threshold`.
template <class T>
struct DroppedRow {
  const std::uint32_t* words;
  std::uint32_t threshold;
  T scale;
};

template <class T>
GRADUS_INLINE void drop_row(T* row, std::int64_t n, DroppedRow<T> drop) {
  for (std::int64_t j = 0; j < n; ++j) {
    const T kept = row[j] * drop.scale;
    row[j] = drop.words[j] >= drop.threshold ? kept : T{0};
  }
}

/// d[r] = a[r]·b[r]
template <class T>
GRADUS_INLINE void dot_rows(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride,
                            std::int64_t rows, std::int64_t n, T* d) {
  for (std::int64_t r = 0; r < rows; ++r) d[r] = vmath::dot(a + r * a_stride, b + r * b_stride, n);
}

/// p = exp(s − lse), ds = p (dp − d). With dropout, forward multiplied p by the dropout factor.
template <class T>
GRADUS_INLINE void online_softmax_rows_backward(T* p, T* dp, std::int64_t rows, std::int64_t n,
                                                const T* lse, const T* d) {
  for (std::int64_t r = 0; r < rows; ++r, p += n, dp += n)
    for (std::int64_t j = 0; j < n; ++j) {
      p[j] = vmath::exp(p[j] - lse[r]);
      dp[j] = p[j] * (dp[j] - d[r]);
    }
}

template <class T>
GRADUS_INLINE void dropped_row_backward(T* p, T* dp, std::int64_t n, T lse, T d,
                                        DroppedRow<T> drop) {
  for (std::int64_t j = 0; j < n; ++j) {
    const T weight = vmath::exp(p[j] - lse);
    const T z = drop.words[j] >= drop.threshold ? drop.scale : T{0};
    p[j] = weight * z;
    dp[j] = weight * (dp[j] * z - d);
  }
}

}  // namespace gradus::kernel
