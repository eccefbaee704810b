#pragma once

#include <string>

#include "gradus/engine/gemm/multiply.h"

namespace gradus::gemm {

/// `other` is an unidentified library; `none` means that no library is linked.
enum class Library { none, openblas, mkl, blis, other };
Library linked_library();

/// Describes the library: "OpenBLAS 0.3.21 … Zen, its thread pool set to one thread", "MKL", "no
/// library".
std::string describe_library();

/// Like multiply, but on the calling thread. Sizes must be at least 1. Throws ValueError for a size
/// above 2³¹ − 1, and MemoryError if OpenBLAS has no memory for buffers.
template <class T>
void library_product(const Matrix<T>& c, const Matrix<const T>& a, const Matrix<const T>& b,
                     const Options<T>& options);

/// Sets the number of library threads for later calls, if supported. For benchmarks.
void set_library_threads(int threads);

/// If true (default), the first library call sets the pthread build of OpenBLAS to one thread,
/// because its spinning pool slows down matmuls.
void set_manage_blas_threads(bool allowed);

}  // namespace gradus::gemm
