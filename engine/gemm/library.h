// A BLAS library as a backend, by CBLAS and functions found by name.
#pragma once

#include <string>

#include "gradus/engine/gemm/multiply.h"

namespace gradus::gemm {

/// `other`: not identified; `none`: not linked.
enum class Library { none, openblas, mkl, blis, other };
Library linked_library();

/// Examples: "OpenBLAS 0.3.21 … Zen, its thread pool set to one thread", "MKL", "no library".
std::string describe_library();

/// Like multiply, on the calling thread. Sizes must be at least 1. Throws ValueError for a size
/// above 2³¹ − 1, and MemoryError if OpenBLAS could not allocate its buffers (it would retry
/// forever).
template <class T>
void library_product(const Matrix<T>& c, const Matrix<const T>& a, const Matrix<const T>& b,
                     const Options<T>& options);

/// Sets the library's own threads for the next calls, if supported. For benchmarks.
void set_library_threads(int threads);

/// If true (default), the first library call sets the pthread build of OpenBLAS to one thread; its
/// spinning pool makes it take 1.8 times as long. Call this before that call.
void set_manage_blas_threads(bool allowed);

}  // namespace gradus::gemm
