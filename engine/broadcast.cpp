// expand and sum_to are each other's backward:
//
//   y = x repeated to a shape    dx = dy, which the walk back sums down to x's shape (accumulate)
//   y = x summed to a shape      dx = dy repeated to x's shape
//
// Neither remembers values. A sum is made of parts of fixed size, added in their order: the same
// bits with any number of threads, and an error that grows far slower than the number of elements.
#include "gradus/engine/broadcast.h"

#include <algorithm>

#include "gradus/base/parallel.h"
#include "gradus/base/simd.h"
#include "gradus/base/vmath.h"
#include "gradus/engine/apply.h"
#include "gradus/engine/strided.h"

namespace gradus {
namespace {

template <class T>
GRADUS_INLINE T sum_of_row(const T* x, std::int64_t n) {
  return vmath::sum(x, n);
}

/// y[c] = Σ_i x[i, c]: four rows at a time, so that y is read and written a fourth as often.
template <class T>
GRADUS_INLINE void sum_of_rows(const T* x, std::int64_t rows, std::int64_t columns, T* y) {
  for (std::int64_t c = 0; c < columns; ++c) y[c] = 0;
  std::int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    const T *r0 = x + i * columns, *r1 = r0 + columns, *r2 = r1 + columns, *r3 = r2 + columns;
    for (std::int64_t c = 0; c < columns; ++c) y[c] += (r0[c] + r1[c]) + (r2[c] + r3[c]);
  }
  for (; i < rows; ++i)
    for (std::int64_t c = 0; c < columns; ++c) y[c] += x[i * columns + c];
}

/// [outer, n, inner] → [outer, inner]. Long sums are cut into parts, whose sums are then summed.
template <class T>
Tensor sum_middle(const Tensor& x, std::int64_t outer, std::int64_t n, std::int64_t inner) {
  const std::int64_t part = std::max<std::int64_t>(32, rows_grain(inner));
  const std::int64_t parts = std::max<std::int64_t>(1, (n + part - 1) / part);
  Tensor y = Tensor::empty({outer, parts, inner}, x.dtype());
  const T* from = x.data<T>();
  T* to = y.mutable_data<T>();
  const auto sum_part = [&](std::int64_t i) {
    const std::int64_t first = i % parts * part, rows = std::min(part, n - first);
    const T* at = from + (i / parts * n + first) * inner;
    if (inner == 1)
      to[i] = simd::run<sum_of_row<T>>(at, rows);
    else
      simd::run<sum_of_rows<T>>(at, rows, inner, to + i * inner);
  };
  const std::int64_t grain = rows_grain(std::min(n, part) * inner);
  parallel_for(outer * parts, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) sum_part(i);
  });
  return parts == 1 ? y : sum_middle<T>(y, outer, parts, inner);
}

/// x summed along each axis where it is longer than `shape`, aligned at the right. Neighbouring
/// axes that all go, or all stay, count as one.
template <class T>
Tensor sum_axes(const Tensor& x, const Shape& shape) {
  const int added = x.rank() - shape.rank();
  const auto goes = [&](int axis) {
    return axis < added || shape[axis - added] != x.shape()[axis];
  };
  Tensor rest = kernel::contiguous(x);
  std::int64_t inner = 1;  // elements of what stays, right of here
  for (int axis = x.rank() - 1; axis >= 0; --axis) {
    if (!goes(axis)) {
      inner *= x.shape()[axis];
      continue;
    }
    std::int64_t n = x.shape()[axis], outer = 1;
    for (; axis > 0 && goes(axis - 1); --axis) n *= x.shape()[axis - 1];
    for (int left = 0; left < axis; ++left) outer *= x.shape()[left];
    rest = sum_middle<T>(rest, outer, n, inner);
  }
  return kernel::reshaped(rest, shape);
}

}  // namespace

namespace op {

struct Expand final : Op {
  Shape to;
  explicit Expand(const Shape& to) : to(to) {}
  const char* name() const override { return "expand"; }
  Tensor forward(const Tensor& x) {
    return kernel::strided_view(x, to, broadcast_strides(x.shape(), x.strides(), to), x.offset());
  }
  Gradients backward(const Tensor& dy, const Wanted&) override { return {dy}; }
};

struct SumTo final : Op {
  Shape from, to;

  explicit SumTo(const Shape& to) : to(to) {}
  const char* name() const override { return "sum_to"; }

  Tensor forward(const Tensor& x) {
    from = x.shape();
    return dispatch_number(name(), x.dtype(), [&]<class T>() { return sum_axes<T>(x, to); });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override { return {expand(dy, from)}; }
};

}  // namespace op

bool broadcasts_to(const Shape& shape, const Shape& target) {
  const int added = target.rank() - shape.rank();
  if (added < 0) return false;
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] != 1 && shape[i] != target[i + added]) return false;
  return true;
}

Tensor expand(const Tensor& x, const Shape& shape) {
  require<ValueError>(x.defined(), "expand: the tensor is undefined");
  const int added = shape.rank() - x.rank();
  require<ShapeError>(added >= 0, "expand: ", shape, " has fewer axes than ", x.shape());
  Shape to = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t size = axis >= added ? x.shape()[axis - added] : 1;
    if (shape[axis] == -1 && axis >= added) to[axis] = size;
    require<ShapeError>(to[axis] == size || (size == 1 && to[axis] >= 0), "expand: ", x.shape(),
                        " to ", shape, ": axis ", axis, " is ", size, " and cannot become ",
                        to[axis], ": only axes of size 1 can be repeated");
  }
  return apply(op::Expand(to), x);
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  require<ValueError>(x.defined(), "sum_to: the tensor is undefined");
  if (x.shape() == shape) return x;
  require<ShapeError>(
      broadcasts_to(shape, x.shape()), "sum_to: ", x.shape(), " cannot come from ", shape,
      " by broadcasting: sizes, aligned at the right, must be equal or 1 in the latter");
  return apply(op::SumTo{shape}, x);
}

}  // namespace gradus
