// Our own products: B is packed into panels as wide as a tile, the rows of A that a tile needs are
// copied beside each other, and tiles of C follow (tile.h). Few rows are dot products instead.
#pragma once

#include "gradus/engine/base/simd.h"
#include "gradus/engine/gemm/multiply.h"

namespace gradus::gemm {

/// How a product is added up. Decided for the whole of it, so that a slab of few rows has the same
/// bits as any other.
enum class Form { tiles, few_rows, few_columns };
template <class T>
Form form_of(const Matrix<T>& c, const Matrix<const T>& a, const Matrix<const T>& b);

/// Like multiply, on this thread, with the vectors of one level, which the processor must have.
/// Sizes of at least 1.
template <class T>
void builtin_product(simd::Level level, Form form, const Matrix<T>& c, const Matrix<const T>& a,
                     const Matrix<const T>& b, const Options<T>& options);

}  // namespace gradus::gemm
