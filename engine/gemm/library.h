// A BLAS library as a backend. One file declares the few CBLAS functions that are called, so that
// any CBLAS will do; what else is asked of a library is looked up by name at run time.
#pragma once

#include <string>

#include "gradus/engine/gemm/multiply.h"

namespace gradus::gemm {

/// OpenBLAS, MKL, BLIS, or another that calls itself nothing; none where none was linked.
enum class Library { none, openblas, mkl, blis, other };
Library linked_library();

/// "OpenBLAS 0.3.21 … Zen, its thread pool set to one thread", "MKL", "no library".
std::string describe_library();

/// Like multiply, on the calling thread alone. Sizes of at least 1; ValueError above 2³¹ − 1.
/// MemoryError where the system has no room for the buffers of OpenBLAS, which would ask for ever.
template <class T>
void library_product(const Matrix<T>& c, const Matrix<const T>& a, const Matrix<const T>& b,
                     const Options<T>& options);

/// Lets the library use `threads` of its own for what is called next, where it can be told: for
/// measuring.
void set_library_threads(int threads);

/// The pthread build of OpenBLAS keeps a spinning pool, which Gradus sets to one thread at the
/// first product of the library (1.8× otherwise). false forbids that; call it before that product.
void set_manage_blas_threads(bool allowed);

}  // namespace gradus::gemm
