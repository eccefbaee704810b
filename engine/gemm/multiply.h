// Matrix multiplication: C = alpha · A B + beta · C + bias + residual.
//
//   const Matrix<const float> x(…, rows, in), w(…, out, in);
//   multiply(Matrix(y, rows, out), x, w.transpose(), {.bias = b});
#pragma once

#include <type_traits>

#include "gradus/engine/gemm/matrix.h"

namespace gradus::gemm {

enum class Threads { one, all };

/// Minimum of 2·m·n·k for a second thread: 10 to 40 µs of work, while starting the team takes 1 to
/// 5 µs. The minimum for matrix-vector products is lower, because they are memory-bound.
inline constexpr double kSplit = 2e6, kSplitVector = kSplit / 32;

template <class T>
struct Options {
  T alpha = 1;
  T beta = 0;                  // 0: C is not read, so NaN values are overwritten
  const T* bias = nullptr;     // [columns of C], added to each row
  Matrix<const T> residual{};  // added to C; not transposed, must not overlap C
  Threads threads = Threads::all;

  Options at(std::int64_t row, std::int64_t column) const {
    Options part = *this;
    if (bias != nullptr) part.bias += column;
    if (residual.data != nullptr) part.residual.data = residual.at(row, column);
    return part;
  }
};

/// Computes C [m, n] = alpha · A [m, k] B [k, n] + beta · C + bias + residual in f32 or f64. C must
/// not be transposed or overlap A or B. Sizes may be 0. Throws ShapeError if sizes do not match,
/// ValueError for a stride shorter than a row or a size above 2³¹ − 1 in a 32-bit library. The
/// summation order depends only on k. Built-in results do not depend on the number of threads;
/// library results depend only on the library's number of threads.
template <class T>
requires(!std::is_const_v<T>) void multiply(Matrix<T> c, std::type_identity_t<Matrix<const T>> a,
                                            std::type_identity_t<Matrix<const T>> b,
                                            const std::type_identity_t<Options<T>>& options = {});

}  // namespace gradus::gemm
