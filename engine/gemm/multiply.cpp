// Splits C into slabs of rows or columns, one per thread of the built-in pool. This is at least as
// fast as the BLAS library's own threads, and a busy core delays only its slab.
#include "gradus/engine/gemm/multiply.h"

#include <algorithm>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/thread_state.h"
#include "gradus/engine/gemm/backend.h"
#include "gradus/engine/gemm/builtin.h"
#include "gradus/engine/gemm/library.h"
#include "gradus/engine/gemm/plain.h"

namespace gradus::gemm {
namespace {

// Slabs are multiples of 16 rows or columns, the size of OpenBLAS's largest tile.
constexpr std::int64_t kSlabUnit = 16;

template <class T>
void check_stride(const char* name, const Matrix<T>& x) {
  require(x.rows >= 0 && x.columns >= 0, "multiply: ", name, " is ", x.rows, " x ", x.columns,
          ". Sizes must not be negative.");
  require(x.rows == 0 || x.columns == 0 || x.stride >= x.stored_columns(),
          "multiply: the stride of ", name, ", ", x.stride, ", is less than its row length, ",
          x.stored_columns(), ". Increase the stride.");
}

template <class T>
void check_sizes(const Matrix<T>& c, const Matrix<const T>& a, const Matrix<const T>& b,
                 const Matrix<const T>& residual) {
  check_stride("A", a);
  check_stride("B", b);
  check_stride("C", c);
  require<ShapeError>(a.rows == c.rows && a.columns == b.rows && b.columns == c.columns,
                      "multiply: C [", c.rows, ", ", c.columns, "] cannot be A [", a.rows, ", ",
                      a.columns, "] times B [", b.rows, ", ", b.columns, "]");
  require(!c.transposed && !residual.transposed,
          "multiply: C and the residual must not be transposed. Transpose A and B instead.");
  if (residual.data == nullptr) return;
  check_stride("the residual", residual);
  require<ShapeError>(residual.rows == c.rows && residual.columns == c.columns,
                      "multiply: the residual is [", residual.rows, ", ", residual.columns,
                      "] but C is [", c.rows, ", ", c.columns, "]. Their sizes must be equal.");
}

template <class T>
void serial(const Choice& choice, Form form, const Matrix<T>& c, const Matrix<const T>& a,
            const Matrix<const T>& b, const Options<T>& options) {
  if (choice.backend == Backend::plain || a.columns == 0)
    plain_product(c, a, b, options);
  else if (choice.backend == Backend::library)
    library_product(c, a, b, options);
  else
    builtin_product(choice.level, form, c, a, b, options);
}

}  // namespace

template <class T>
void multiply_by(const Choice& choice, Matrix<T> c, std::type_identity_t<Matrix<const T>> a,
                 std::type_identity_t<Matrix<const T>> b,
                 const std::type_identity_t<Options<T>>& options) {
  check_sizes(c, a, b, options.residual);
  if (c.rows == 0 || c.columns == 0) return;
  const Form form = form_of(c, a, b);
  const double flop = 2.0 * double(c.rows) * double(c.columns) * double(a.columns),
               least = std::min(c.rows, c.columns) == 1 ? kSplitVector : kSplit;
  if (options.threads == Threads::one || thread_state.parallel || num_threads() == 1 ||
      flop < least)
    return serial(choice, form, c, a, b, options);
  const bool by_rows = c.rows >= c.columns;
  const std::int64_t longer = std::max(c.rows, c.columns), threads = num_threads();
  const std::int64_t even = (longer + threads - 1) / threads,
                     slab = (even + kSlabUnit - 1) / kSlabUnit * kSlabUnit;
  parallel_for(longer, slab, [&](std::int64_t begin, std::int64_t end) {
    if (by_rows)
      serial(choice, form, c.row_range(begin, end), a.row_range(begin, end), b,
             options.at(begin, 0));
    else
      serial(choice, form, c.column_range(begin, end), a, b.column_range(begin, end),
             options.at(0, begin));
  });
}

template <class T>
requires(!std::is_const_v<T>) void multiply(Matrix<T> c, std::type_identity_t<Matrix<const T>> a,
                                            std::type_identity_t<Matrix<const T>> b,
                                            const std::type_identity_t<Options<T>>& options) {
  multiply_by(chosen(), c, a, b, options);
}

template decltype(multiply<float>) multiply<float>;
template decltype(multiply<double>) multiply<double>;
template decltype(multiply_by<float>) multiply_by<float>;
template decltype(multiply_by<double>) multiply_by<double>;

}  // namespace gradus::gemm
