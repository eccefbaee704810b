// expand is the backward of sum_to, and vice versa:
//
//   y = x repeated to a shape    dx = dy, which accumulate sums down to x's shape
//   y = x summed to a shape      dx = dy repeated to x's shape
//
// Neither saves values.
#include "gradus/engine/broadcast.h"

#include "gradus/engine/apply.h"
#include "gradus/engine/reduce.h"
#include "gradus/engine/strided.h"

namespace gradus {
namespace {

/// Returns the axes along which `from` is longer than `to`, with both shapes aligned at the right.
Axes longer_axes(const Shape& from, const Shape& to) {
  const int added = from.rank() - to.rank();
  Axes axes;
  for (int axis = 0; axis < from.rank(); ++axis)
    if (axis < added || to[axis - added] != from[axis]) axes.push_back(axis);
  return axes;
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
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {dy}; }
};

struct SumTo final : Op {
  Shape from, to;

  explicit SumTo(const Shape& to) : to(to) {}
  const char* name() const override { return "sum_to"; }

  Tensor forward(const Tensor& x) {
    from = x.shape();
    return kernel::reshaped(kernel::sum(name(), x, reduced(name(), x, longer_axes(from, to), true)),
                            to);
  }

  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {expand(dy, from)}; }
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
  require<ValueError>(x.defined(), "expand: the tensor is undefined. Assign a value first.");
  const int added = shape.rank() - x.rank();
  require<ShapeError>(added >= 0, "expand: the new shape ", shape,
                      " has fewer axes than the tensor's ", x.shape(), ". Keep every axis.");
  Shape to = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t size = axis >= added ? x.shape()[axis - added] : 1;
    if (shape[axis] == -1 && axis >= added) to[axis] = size;
    require<ShapeError>(to[axis] == size || (size == 1 && to[axis] >= 0), "expand: ", x.shape(),
                        " cannot become ", shape, ": axis ", axis, " changes from ", size, " to ",
                        to[axis], ". Only axes of size 1 can be expanded.");
  }
  return apply(op::Expand(to), x);
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  require<ValueError>(x.defined(), "sum_to: the tensor is undefined. Assign a value first.");
  if (x.shape() == shape) return x;
  require<ShapeError>(
      broadcasts_to(shape, x.shape()), "sum_to: ", x.shape(), " is not a broadcast of ", shape,
      ". Aligned at the right, each size of the new shape must be the tensor's or 1.");
  return apply(op::SumTo{shape}, x);
}

}  // namespace gradus
