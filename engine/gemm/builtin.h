// The built-in matmul. Packs B into panels as wide as a tile, copies the rows of A for one tile,
// and computes tiles of C (tile.h). Uses dot products for few rows.
#pragma once

#include "gradus/engine/base/simd.h"
#include "gradus/engine/gemm/multiply.h"

namespace gradus::gemm {

/// The summation scheme. It is chosen for the entire matmul, so that the result does not depend on
/// how threads divide C.
enum class Form { tiles, few_rows, few_columns };
template <class T>
Form form_of(const Matrix<T>& c, const Matrix<const T>& a, const Matrix<const T>& b);

/// Like multiply, but on the calling thread and with the vectors of `level`, which the processor
/// must support. Sizes must be at least 1.
template <class T>
void builtin_product(simd::Level level, Form form, const Matrix<T>& c, const Matrix<const T>& a,
                     const Matrix<const T>& b, const Options<T>& options);

}  // namespace gradus::gemm
