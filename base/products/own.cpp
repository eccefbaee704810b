#include "gradus/base/products/own.h"

namespace gradus::products {
namespace {

// Rows, or columns, of C up to which dot products are faster than tiles.
constexpr std::int64_t kFewRows = 8, kFewColumns = 4;

}  // namespace

template <class T>
Form form_of(const Matrix<T>& c, const Matrix<const T>& a, const Matrix<const T>& b) {
  if (b.transposed && c.rows <= kFewRows) return Form::few_rows;
  return !a.transposed && c.columns <= kFewColumns ? Form::few_columns : Form::tiles;
}

template <class T>
void own_product(simd::Level level, Form form, const Matrix<T>& c, const Matrix<const T>& a,
                 const Matrix<const T>& b, const Options<T>& options) {
#if GRADUS_HAS_LEVELS
  if (level == simd::Level::avx512) return avx512_product(form, c, a, b, options);
  if (level == simd::Level::avx2) return avx2_product(form, c, a, b, options);
#endif
  baseline_product(form, c, a, b, options);
}

template decltype(form_of<float>) form_of<float>;
template decltype(form_of<double>) form_of<double>;
template decltype(own_product<float>) own_product<float>;
template decltype(own_product<double>) own_product<double>;

}  // namespace gradus::products
