// Concatenation, repetition, reversal, triangles, padding. All are linear and save only sizes.
//
//   cat          dx_i = the slice of dy that x_i became (a view)
//   flip         dx = dy flipped
//   pad          dx = the inner part of dy (a view)
#include "gradus/ops/shape_ops.h"

#include "gradus/engine/apply.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/logic.h"

namespace gradus {
namespace op {

struct Clone final : Op {
  const char* name() const override { return "clone"; }
  Tensor forward(const Tensor& x) { return kernel::copy(x); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {dy}; }
};

struct Cat final : Op {
  int axis;
  std::vector<std::int64_t> sizes;  // sizes of the inputs along `axis`
  explicit Cat(int axis) : axis(axis) {}
  const char* name() const override { return "cat"; }
  Tensor forward(std::span<const Tensor> x) {
    Shape shape = x[0].shape();
    shape[axis] = 0;
    for (const Tensor& each : x) {
      sizes.push_back(each.shape()[axis]);
      shape[axis] += each.shape()[axis];
    }
    Tensor y = Tensor::empty(shape, x[0].dtype());
    std::int64_t start = 0;
    for (const Tensor& each : x) {
      kernel::sliced(y, axis, start, each.shape()[axis]).copy_(each);
      start += each.shape()[axis];
    }
    return y;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    Gradients dx(sizes.size());
    std::int64_t start = 0;
    for (std::size_t i = 0; i < sizes.size(); start += sizes[i++])
      if (needs_grad(static_cast<int>(i))) dx[i] = slice(dy, axis, start, start + sizes[i]);
    return dx;
  }
};

struct Flip final : Op {
  Axes axes;
  explicit Flip(const Axes& axes) : axes(axes) {}
  const char* name() const override { return "flip"; }
  Tensor forward(const Tensor& x) {
    if (x.numel() == 0) return x;
    Strides strides = x.strides();
    std::int64_t offset = x.offset();
    for (const std::int64_t given : axes) {
      const int axis = static_cast<int>(given);
      offset += (x.shape()[axis] - 1) * strides[axis];
      strides[axis] = -strides[axis];
    }
    // Makes a copy, so that kernels need not support negative strides.
    return kernel::copy(kernel::strided_view(x, x.shape(), strides, offset));
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {flip(dy, axes)}; }
};

struct Pad final : Op {
  int axis;
  std::int64_t n, before, after;  // n is x's size along the axis
  double value;
  Pad(int axis, std::int64_t n, std::int64_t before, std::int64_t after, double value)
      : axis(axis), n(n), before(before), after(after), value(value) {}
  const char* name() const override { return "pad"; }
  Tensor forward(const Tensor& x) {
    Shape shape = x.shape();
    shape[axis] += before + after;
    Tensor y = Tensor::empty(shape, x.dtype());
    kernel::sliced(y, axis, 0, before).fill_(value);
    kernel::sliced(y, axis, before, n).copy_(x);
    kernel::sliced(y, axis, before + n, after).fill_(value);
    return y;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {slice(dy, axis, before, before + n)};
  }
};

}  // namespace op

namespace {

void check_joinable(const char* op, std::span<const Tensor> x, int axis) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Shape &first = x[0].shape(), &other = x[i].shape();
    require<DtypeError>(x[i].dtype() == x[0].dtype(), op, ": tensor 0 is ", x[0].dtype(),
                        " but tensor ", i, " is ", x[i].dtype(),
                        ". Convert one with to(x, dtype).");
    bool fits = other.rank() == first.rank();
    for (int a = 0; fits && a < first.rank(); ++a) fits = a == axis || other[a] == first[a];
    require<ShapeError>(fits, op, ": tensor 0 is ", first, " but tensor ", i, " is ", other,
                        ". All sizes ", axis < 0 ? "" : str_cat("except that of axis ", axis, " "),
                        "must be equal.");
  }
}

/// tril() if `lower`, else triu().
Tensor triangle(const char* op, const Tensor& x, bool lower, std::int64_t diagonal) {
  check_defined(op, x);
  require<ShapeError>(x.rank() >= 2, op, ": ", x.shape(),
                      " has fewer than two axes, so it has no diagonal. Pass [..., m, n].");
  const std::int64_t m = x.size(-2), n = x.size(-1);
  Tensor cut = Tensor::empty({m, n}, Dtype::bool_);
  bool* at = cut.mutable_data<bool>();
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) *at++ = lower ? j > i + diagonal : j < i + diagonal;
  return masked_fill(x, cut, 0);
}

}  // namespace

Tensor clone(const Tensor& x) {
  check_defined("clone", x);
  return apply(op::Clone{}, x);
}

Tensor contiguous(const Tensor& x) {
  check_defined("contiguous", x);
  return x.is_contiguous() ? x : clone(x);
}

Tensor cat(std::span<const Tensor> x, int axis) {
  require(!x.empty(), "cat: no tensors to join. Pass at least one.");
  for (const Tensor& each : x) check_defined("cat", each);
  require<ShapeError>(x[0].rank() > 0,
                      "cat: tensors without axes, [], cannot be joined. Use stack().");
  axis = normalize_axis("cat", axis, x[0].rank());
  check_joinable("cat", x, axis);
  return apply(op::Cat(axis), x);
}

Tensor cat(std::initializer_list<Tensor> x, int axis) {
  return cat(std::span(x.begin(), x.size()), axis);
}

Tensor stack(std::span<const Tensor> x, int axis) {
  require(!x.empty(), "stack: no tensors to join. Pass at least one.");
  for (const Tensor& each : x) check_defined("stack", each);
  axis = normalize_axis("stack", axis, x[0].rank() + 1);
  check_joinable("stack", x, -1);
  std::vector<Tensor> rows;
  for (const Tensor& each : x) rows.push_back(unsqueeze(each, axis));
  return cat(rows, axis);
}

Tensor stack(std::initializer_list<Tensor> x, int axis) {
  return stack(std::span(x.begin(), x.size()), axis);
}

Tensor repeat(const Tensor& x, const Shape& times) {
  check_defined("repeat", x);
  require<ShapeError>(times.rank() >= x.rank(), "repeat: ", x.shape(), " has ", x.rank(),
                      " axes but times ", times, " has only ", times.rank(),
                      " entries. Pass one per axis.");
  Shape shape = Shape::filled(times.rank() - x.rank(), 1);
  for (const std::int64_t size : x.shape()) shape.push_back(size);
  Tensor y = reshape(x, shape);
  std::int64_t outer = 1;  // product of the sizes before `axis`
  for (int axis = 0; axis < times.rank(); outer *= shape[axis++]) {
    require(times[axis] >= 0, "repeat: times must not be negative, got ", times[axis], " in ",
            times);
    if (times[axis] == 1) continue;
    const std::int64_t inner = outer == 0 ? 0 : y.numel() / outer;
    shape[axis] *= times[axis];
    y = reshape(expand(reshape(y, {outer, 1, inner}), {outer, times[axis], inner}), shape);
  }
  return y;
}

Tensor flip(const Tensor& x, const Axes& axes) {
  check_defined("flip", x);
  return apply(op::Flip(check_axes("flip", x, axes)), x);
}

Tensor tril(const Tensor& x, std::int64_t diagonal) { return triangle("tril", x, true, diagonal); }
Tensor triu(const Tensor& x, std::int64_t diagonal) { return triangle("triu", x, false, diagonal); }

Tensor pad(const Tensor& x, int axis, std::int64_t before, std::int64_t after, double value) {
  axis = check_axis("pad", x, axis);
  require(before >= 0 && after >= 0, "pad: before and after must not be negative, got ", before,
          " and ", after, " for axis ", axis, " of ", x.shape(), ". Use slice() to cut.");
  return apply(op::Pad(axis, x.shape()[axis], before, after, value), x);
}

}  // namespace gradus
