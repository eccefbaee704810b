// Views: different shapes, strides and offsets over the same values. Only reshape may copy, if
// strides cannot express the result. None of the ops saves values.
//
//   reshape                 dx = dy in x's shape
//   permute                 dx = dy with the inverse permutation
//   slice                   dx = dy in the slice, 0 elsewhere
#include "gradus/ops/views.h"

#include <algorithm>
#include <optional>

#include "gradus/engine/apply.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {
namespace {

/// Returns strides that view x as `shape`, if there are any.
std::optional<Strides> strides_for(const Tensor& x, const Shape& shape) {
  if (x.is_contiguous()) return contiguous_strides(shape);
  Strides out = Strides::filled(shape.rank(), 1);
  int to = shape.rank() - 1;
  for (int axis = x.rank() - 1; axis >= 0;) {
    std::int64_t block = x.shape()[axis], step = x.strides()[axis];  // a block of consecutive axes
    for (--axis; axis >= 0; --axis) {
      if (x.shape()[axis] == 1) continue;
      if (x.strides()[axis] != step * block) break;
      block *= x.shape()[axis];
    }
    // Axes of `shape` must fill the block exactly.
    for (; block > 1; --to) {
      if (block % shape[to] != 0) return std::nullopt;
      out[to] = step;
      step *= shape[to];
      block /= shape[to];
    }
  }
  return out;
}

/// Returns the gradient: `dy` at start, start + step, … of an axis of n elements, 0 elsewhere.
Gradient slice_backward(const Tensor& dy, int axis, std::int64_t n, std::int64_t start,
                        std::int64_t step) {
  // All other positions have gradient 0.
  if (!GradMode::enabled()) return Gradient::slice(dy, axis, start, step);
  const std::int64_t count = dy.size(axis);
  if (step == 1) return pad(dy, axis, start, n - start - count);
  Shape wide = dy.shape();
  wide[axis] = count * step;
  const Tensor apart = reshape(pad(unsqueeze(dy, axis + 1), axis + 1, 0, step - 1), wide);
  const Tensor cut = slice(apart, axis, 0, n - start);
  return pad(cut, axis, start, n - start - cut.size(axis));
}

}  // namespace

Axes all_axes(const Tensor& x) {
  Axes axes;
  for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  return axes;
}

Axes inverse(const Axes& order) {
  Axes back = order;
  for (int i = 0; i < order.rank(); ++i) back[static_cast<int>(order[i])] = i;
  return back;
}

namespace op {

struct Reshape final : Op {
  Shape from, to;
  Reshape(const Shape& from, const Shape& to) : from(from), to(to) {}
  const char* name() const override { return "reshape"; }
  Tensor forward(const Tensor& x) {
    const std::optional<Strides> strides = strides_for(x, to);
    return strides ? kernel::strided_view(x, to, *strides, x.offset()) : kernel::reshaped(x, to);
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {reshape(dy, from)}; }
};

struct Permute final : Op {
  Axes order;
  explicit Permute(const Axes& order) : order(order) {}
  const char* name() const override { return "permute"; }
  Tensor forward(const Tensor& x) {
    Shape shape = x.shape();
    Strides strides = x.strides();
    for (int i = 0; i < order.rank(); ++i) {
      shape[i] = x.shape()[static_cast<int>(order[i])];
      strides[i] = x.strides()[static_cast<int>(order[i])];
    }
    return kernel::strided_view(x, shape, strides, x.offset());
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {permute(dy, inverse(order))};
  }
};

struct Slice final : Op {
  int axis;
  std::int64_t n, start, count, step;
  Slice(int axis, std::int64_t n, std::int64_t start, std::int64_t count, std::int64_t step)
      : axis(axis), n(n), start(start), count(count), step(step) {}
  const char* name() const override { return "slice"; }
  Tensor forward(const Tensor& x) { return kernel::sliced(x, axis, start, count, step); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {slice_backward(dy, axis, n, start, step)};
  }
};

}  // namespace op

Tensor reshape(const Tensor& x, const Shape& shape) {
  check_defined("reshape", x);
  Shape to = shape;
  int computed = -1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    require<ShapeError>(shape[axis] >= -1, "reshape: ", shape, " has a negative size, ",
                        shape[axis], ". Only -1 (computed) is allowed.");
    require<ShapeError>(shape[axis] != -1 || computed < 0, "reshape: ", shape,
                        " contains -1 more than once. Only one size can be computed.");
    if (shape[axis] == -1) {
      computed = axis;
      to[axis] = 1;
    }
  }
  const std::int64_t others = numel(to);
  if (computed >= 0) {
    require<ShapeError>(others > 0 && x.numel() % others == 0, "reshape: ", x.shape(), " has ",
                        x.numel(), " elements, which do not fill ", shape,
                        " for any value of -1. The other sizes must divide ", x.numel(), ".");
    to[computed] = x.numel() / others;
  }
  require<ShapeError>(numel(to) == x.numel(), "reshape: ", x.shape(), " has ", x.numel(),
                      " elements but ", shape, " has ", numel(to),
                      ". The products of the sizes must be equal.");
  return apply(op::Reshape(x.shape(), to), x);
}

Tensor view(const Tensor& x, const Shape& shape) {
  Tensor y = reshape(x, shape);
  require<ShapeError>(y.storage() == x.storage(), "view: the values of ", x.shape(),
                      " with strides ", x.strides(), " cannot be viewed as ", shape,
                      " without a copy. Use reshape(), or contiguous() first.");
  return y;
}

Tensor flatten(const Tensor& x, int first, int last) {
  check_defined("flatten", x);
  if (x.rank() == 0) return reshape(x, {1});
  first = normalize_axis("flatten", first, x.rank());
  last = normalize_axis("flatten", last, x.rank());
  require<ShapeError>(first <= last, "flatten: axis ", first, " comes after axis ", last, " in ",
                      x.shape(), ". Exchange them.");
  Shape shape = x.shape();
  for (int axis = first; axis < last; ++axis) {
    shape[first] *= shape[first + 1];
    shape.erase(first + 1);
  }
  return reshape(x, shape);
}

Tensor transpose(const Tensor& x, int a, int b) {
  a = check_axis("transpose", x, a);
  b = check_axis("transpose", x, b);
  Axes order = all_axes(x);
  std::swap(order[a], order[b]);
  return apply(op::Permute(order), x);
}

Tensor permute(const Tensor& x, const Axes& order) {
  check_defined("permute", x);
  require<ShapeError>(order.rank() == x.rank(), "permute: the order ", order, " names ",
                      order.rank(), " axes, but ", x.shape(), " has ", x.rank(),
                      ". Name each axis once.");
  return apply(op::Permute(check_axes("permute", x, order)), x);
}

Tensor squeeze(const Tensor& x, int axis) {
  axis = check_axis("squeeze", x, axis);
  require<ShapeError>(x.shape()[axis] == 1, "squeeze: axis ", axis, " of ", x.shape(), " has size ",
                      x.shape()[axis], ", not 1. Use select() to take one position.");
  Shape shape = x.shape();
  shape.erase(axis);
  return reshape(x, shape);
}

Tensor unsqueeze(const Tensor& x, int axis) {
  check_defined("unsqueeze", x);
  Shape shape = x.shape();
  shape.insert(normalize_axis("unsqueeze", axis, x.rank() + 1), 1);
  return reshape(x, shape);
}

Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t stop, std::int64_t step) {
  axis = check_axis("slice", x, axis);
  require(step >= 1, "slice: step must be positive, got ", step, " for axis ", axis, " of ",
          x.shape(), ". Use flip() to reverse an axis.");
  const std::int64_t n = x.shape()[axis];
  start = std::clamp<std::int64_t>(start < 0 ? start + n : start, 0, n);
  stop = std::clamp<std::int64_t>(stop < 0 ? stop + n : stop, start, n);
  const std::int64_t count = (stop - start) / step + ((stop - start) % step != 0);
  return apply(op::Slice(axis, n, start, count, step), x);
}

Tensor select(const Tensor& x, int axis, std::int64_t position) {
  axis = check_axis("select", x, axis);
  const std::int64_t n = x.shape()[axis];
  require<IndexError>(-n <= position && position < n, "select: position ", position, " of axis ",
                      axis, " of ", x.shape(), " is out of range. Use ", -n, " to ", n - 1, ".");
  if (position < 0) position += n;
  return squeeze(slice(x, axis, position, position + 1), axis);
}

std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis) {
  axis = check_axis("split", x, axis);
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    require<ShapeError>(size >= 0 && size <= x.shape()[axis] - start, "split: part ", parts.size(),
                        " of size ", size, " does not fit into axis ", axis, " of ", x.shape(),
                        " from ", start, ". The sizes must add up to ", x.shape()[axis], ".");
    parts.push_back(slice(x, axis, start, start + size));
    start += size;
  }
  require<ShapeError>(start == x.shape()[axis], "split: the sizes add up to ", start, " but axis ",
                      axis, " of ", x.shape(), " has ", x.shape()[axis], ". They must be equal.");
  return parts;
}

std::vector<Tensor> split(const Tensor& x, std::int64_t size, int axis) {
  axis = check_axis("split", x, axis);
  require(size >= 1, "split: the part size for ", x.shape(), " must be at least 1, got ", size);
  const std::int64_t n = x.shape()[axis];
  std::vector<std::int64_t> sizes;
  for (std::int64_t left = n; left > 0 || sizes.empty(); left -= sizes.back())
    sizes.push_back(std::min(size, left));
  return split(x, sizes, axis);
}

std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, int axis) {
  axis = check_axis("chunk", x, axis);
  require(chunks >= 1, "chunk: chunks of ", x.shape(), " must be at least 1, got ", chunks);
  const std::int64_t n = x.shape()[axis];
  return split(x, std::max<std::int64_t>(1, n / chunks + (n % chunks != 0)), axis);
}

Tensor Tensor::operator[](std::initializer_list<Index> indices) const {
  check_defined("[]", *this);
  require<IndexError>(static_cast<int>(indices.size()) <= rank(), "[]: ", indices.size(),
                      " indices for ", shape_, ", which has ", rank(),
                      rank() == 1 ? " axis" : " axes", ". Pass at most one index per axis.");
  Tensor part = *this;
  int axis = 0;
  for (const Index& index : indices) {
    if (index.is_position)
      part = gradus::select(part, axis, index.position);
    else
      part = gradus::slice(part, axis++, index.range.start, index.range.stop, index.range.step);
  }
  return part;
}

}  // namespace gradus
