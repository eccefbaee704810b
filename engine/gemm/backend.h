// Selects the matmul backend.
#pragma once

#include <string>
#include <string_view>

#include "gradus/engine/base/simd.h"
#include "gradus/engine/gemm/library.h"
#include "gradus/engine/gemm/multiply.h"

namespace gradus::gemm {

enum class Backend { builtin, library, plain };

struct Choice {
  Backend backend;
  simd::Level level;  // level of the built-in kernels
  std::string reason;
};

/// Returns the backend for the build, linked library, processor, GRADUS_BLAS=builtin|library,
/// GRADUS_SIMD and bits(). Computed once. Throws ValueError if a variable is invalid, or if a
/// library is wanted for portable bits.
const Choice& chosen();
/// Returns the choice for a given GRADUS_BLAS value ("" if unset) and linked library.
Choice choice_of(std::string_view asked, Library library);

/// Like multiply, but with a given backend and level. For tests and benchmarks.
template <class T>
void multiply_by(const Choice& choice, Matrix<T> c, std::type_identity_t<Matrix<const T>> a,
                 std::type_identity_t<Matrix<const T>> b,
                 const std::type_identity_t<Options<T>>& options = {});

/// Describes the choice: "builtin, avx512: OpenBLAS can be slow on new processors".
std::string describe(const Choice& choice = chosen());

}  // namespace gradus::gemm
