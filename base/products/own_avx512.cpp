// The built-in GEMM with AVX-512.
#include "gradus/base/simd.h"

#if GRADUS_HAS_LEVELS
#define GRADUS_OWN_TARGET GRADUS_TARGET_AVX512

#include "gradus/base/products/own_kernel.h"

namespace gradus::products {

template <class T>
GRADUS_TARGET_AVX512 void avx512_product(Form form, const Matrix<T>& c, const Matrix<const T>& a,
                                         const Matrix<const T>& b, const Options<T>& options) {
  own::product<Avx512>(form, c, a, b, options);
}

template decltype(avx512_product<float>) avx512_product<float>;
template decltype(avx512_product<double>) avx512_product<double>;

}  // namespace gradus::products
#endif
