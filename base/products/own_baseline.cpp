// The built-in GEMM with the vectors that every processor has.

#include "gradus/base/products/own_kernel.h"

namespace gradus::products {

template <class T>
void baseline_product(Form form, const Matrix<T>& c, const Matrix<const T>& a,
                      const Matrix<const T>& b, const Options<T>& options) {
  own::product<Baseline>(form, c, a, b, options);
}

template decltype(baseline_product<float>) baseline_product<float>;
template decltype(baseline_product<double>) baseline_product<double>;

}  // namespace gradus::products
