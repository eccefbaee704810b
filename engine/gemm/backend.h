// Which backend multiplies: our own products, a BLAS library, or the plain loop. Decided once, by
// rule.
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
  simd::Level level;   // of our own products
  std::string reason;  // "ours are as fast at each width"
};

/// Follows from the build, the library, the processor, GRADUS_BLAS=builtin|library and GRADUS_SIMD;
/// computed once. ValueError where a variable is wrong.
const Choice& chosen();
/// The same where GRADUS_BLAS says `asked`, or nothing, and `library` is linked.
Choice choice_of(std::string_view asked, Library library);

/// multiply by a given backend and level: what tests and benchmarks compare.
template <class T>
void multiply_by(const Choice& choice, Matrix<T> c, std::type_identity_t<Matrix<const T>> a,
                 std::type_identity_t<Matrix<const T>> b,
                 const std::type_identity_t<Options<T>>& options = {});

/// "builtin, avx512: ours need not know the processor's name"
std::string describe(const Choice& choice = chosen());

}  // namespace gradus::gemm
