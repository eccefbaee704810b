// The one way to multiply matrices: C = alpha · A B + beta · C + bias + residual.
//
//   const Matrix<const float> x(…, rows, in), w(…, out, in);
//   multiply(Matrix(y, rows, out), x, w.transpose(), {.bias = b});
//
// Backends are chosen in backend.h: our own products, a BLAS library, or the plain loop.
#pragma once

#include <type_traits>

#include "gradus/engine/gemm/matrix.h"

namespace gradus::gemm {

enum class Threads { one, all };

/// 2·m·n·k from which a second thread pays: 10 to 40 µs of one core, against 1 to 5 for the start
/// of the team. A product with a vector waits for memory, and half a matrix fits the cache of a
/// core: from kSplit / 32 on, a token of the `cpu` model, its text of 1,024 cached, takes 0.19 ms;
/// from kSplit / 8 on, 0.24.
inline constexpr double kSplit = 2e6, kSplitVector = kSplit / 32;

/// What else happens while C is written.
template <class T>
struct Options {
  T alpha = 1;
  T beta = 0;                  // 0: C is not read, and NaN in it is overwritten
  const T* bias = nullptr;     // [columns of C], added to every row
  Matrix<const T> residual{};  // rows × columns like C, added to it; not transposed, no part of C
  Threads threads = Threads::all;

  /// The same for the part of C that begins at (row, column).
  Options at(std::int64_t row, std::int64_t column) const {
    Options part = *this;
    if (bias != nullptr) part.bias += column;
    if (residual.data != nullptr) part.residual.data = residual.at(row, column);
    return part;
  }
};

/// C [m, n] = alpha · A [m, k] B [k, n] + beta · C + bias + residual. C is not transposed, and is
/// no part of A and B. Sizes may be 0 (k = 0: the product is 0). Float or double. ShapeError
/// where sizes do not fit, ValueError for a stride shorter than a row or, in a library that counts
/// in 32 bits, a size above 2³¹ − 1. A large product runs as one slab a thread along its longer
/// side. Every element is summed in an order that depends on k alone, so the result does not depend
/// on threads with our own products; with a library it is the same for the same number of threads.
template <class T>
requires(!std::is_const_v<T>) void multiply(Matrix<T> c, std::type_identity_t<Matrix<const T>> a,
                                            std::type_identity_t<Matrix<const T>> b,
                                            const std::type_identity_t<Options<T>>& options = {});

}  // namespace gradus::gemm
