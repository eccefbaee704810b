// matmul: c = a b, for each matrix of a batch.
//
//   forward     c = a b
//   backward    da = dc bᵀ      db = aᵀ dc      summed over broadcast axes
//
// Saves both operands. Transposed and head-split views are read in place.

#include "gradus/ops/matmul.h"

#include <algorithm>
#include <utility>

#include "gradus/engine/apply.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/gemm/multiply.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {

using gemm::Matrix;
using gemm::multiply;

namespace {

/// Returns all axes but the last two.
template <class D>
D leading_axes(const D& dims) {
  return D(std::span<const std::int64_t>(dims).first(static_cast<std::size_t>(dims.rank() - 2)));
}

struct Operand {
  Tensor x;
  bool transposed = false;
  std::int64_t stride = 0;  // distance between stored rows
  Strides batch;            // strides of the leading axes, broadcast to the result

  Operand(Tensor given, const Shape& leading) : x(std::move(given)) {
    if (!is_matrix()) {
      x = kernel::contiguous(x);
      is_matrix();
    }
    batch = broadcast_strides(leading_axes(x.shape()), leading_axes(x.strides()), leading);
  }

  template <class T>
  Matrix<const T> matrix(std::int64_t index, const Shape& leading) const {
    std::int64_t at = 0;
    for (int axis = leading.rank() - 1; axis >= 0; index /= leading[axis--])
      at += index % leading[axis] * batch[axis];
    const std::int64_t rows = x.size(-2), columns = x.size(-1);
    if (!transposed) return {x.data<T>() + at, rows, columns, gemm::Stride{stride}};
    return Matrix<const T>(x.data<T>() + at, columns, rows, gemm::Stride{stride}).transpose();
  }

 private:
  /// True if the last two axes form a matrix, possibly transposed, without overlapping rows.
  bool is_matrix() {
    const int r = x.rank();
    const std::int64_t m = x.shape()[r - 2], n = x.shape()[r - 1];
    const std::int64_t row = m == 1 ? n : x.strides()[r - 2],
                       column = n == 1 ? 1 : x.strides()[r - 1];
    transposed = false;
    stride = std::max<std::int64_t>(row, 1);
    if (column == 1 && row >= n) return true;
    const std::int64_t down = m == 1 ? 1 : x.strides()[r - 2], across = x.strides()[r - 1];
    transposed = true;
    stride = std::max<std::int64_t>(across, 1);
    return down == 1 && across >= m;
  }
};

void check_inner(const Tensor& a, const Tensor& b) {
  const std::int64_t k = a.size(-1), other = b.size(-2);
  require<ShapeError>(k == other, "matmul: ", a.shape(), " x ", b.shape(),
                      " have different inner sizes, ", k, " and ", other, ". ",
                      b.size(-1) == k ? "Did you mean transpose of the second?"
                                      : "The last axis of the first must be as long as the "
                                        "second-to-last of the second.");
}

/// Both operands must have rank ≥ 2.
Tensor batched_matmul(const Tensor& a, const Tensor& b) {
  check_inner(a, b);
  const Shape leading =
      broadcast_shapes("matmul", leading_axes(a.shape()), leading_axes(b.shape()));
  const std::int64_t m = a.size(-2), n = b.size(-1), batches = numel(leading);
  Shape shape = leading;
  shape.push_back(m);
  shape.push_back(n);
  Tensor c = Tensor::empty(shape, a.dtype());
  const Operand left(a, leading), right(b, leading);
  dispatch_float("matmul", a.dtype(), [&]<class T>() {
    T* to = c.mutable_data<T>();
    const auto product = [&](std::int64_t i, gemm::Threads threads) {
      multiply(Matrix<T>(to + i * m * n, m, n), left.matrix<T>(i, leading),
               right.matrix<T>(i, leading), {.threads = threads});
    };
    // If there are fewer matmuls than threads, split each over the threads.
    if (batches < num_threads())
      for (std::int64_t i = 0; i < batches; ++i) product(i, gemm::Threads::all);
    else
      parallel_for(batches, rows_grain(m * n), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) product(i, gemm::Threads::one);
      });
  });
  return c;
}

}  // namespace

namespace op {

struct MatMul final : Op {
  Saved a, b;
  const char* name() const override { return "matmul"; }

  Tensor forward(const Tensor& left, const Tensor& right) {
    a = left;
    b = right;
    return batched_matmul(left, right);
  }

  Gradients backward(const Tensor& dc, const NeedsGrad& needs_grad) override {
    Tensor da, db;
    if (needs_grad(0)) da = matmul(dc, transpose(b.value()));
    if (needs_grad(1)) db = matmul(transpose(a.value()), dc);
    return {da, db};
  }
};

}  // namespace op

Tensor matmul(const Tensor& a, const Tensor& b) {
  check_pair("matmul", a, b);
  require<ShapeError>(a.rank() >= 1 && b.rank() >= 1, "matmul: ", a.shape(), " x ", b.shape(),
                      " include a scalar. Multiply with *.");
  if (a.rank() == 1) {
    require<ShapeError>(b.rank() > 1 || a.size(0) == b.size(0), "matmul: ", a.shape(), " x ",
                        b.shape(), " have different lengths. Pass vectors of equal length.");
    return squeeze(matmul(unsqueeze(a, 0), b), b.rank() == 1 ? 0 : -2);
  }
  if (b.rank() == 1) return squeeze(matmul(a, unsqueeze(b, 1)), -1);
  if (a.rank() > 2 && b.rank() == 2) {  // one matmul of all rows; backward needs only one sum
    check_inner(a, b);
    Shape shape = a.shape();
    shape[a.rank() - 1] = b.size(1);
    const std::int64_t rows = numel(leading_axes(a.shape())) * a.size(-2);
    return reshape(matmul(reshape(a, {rows, a.size(-1)}), b), shape);
  }
  return apply(op::MatMul{}, a, b);
}

}  // namespace gradus
