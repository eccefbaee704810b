// The built-in GEMM with AVX2.
#include "gradus/base/simd.h"

#if GRADUS_HAS_LEVELS
#define GRADUS_OWN_TARGET GRADUS_TARGET_AVX2

#include "gradus/base/products/own_kernel.h"

namespace gradus::products {

template <class T>
GRADUS_TARGET_AVX2 void avx2_product(Form form, const Matrix<T>& c, const Matrix<const T>& a,
                                     const Matrix<const T>& b, const Options<T>& options) {
  own::product<Avx2>(form, c, a, b, options);
}

template decltype(avx2_product<float>) avx2_product<float>;
template decltype(avx2_product<double>) avx2_product<double>;

}  // namespace gradus::products
#endif
