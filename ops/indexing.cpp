// Indexing and its reverse. gather is the derivative of scatter_add, and vice versa:
//
//   index_select  y[i, …] = x[index[i], …]             dx[index[i], …] += dy[i, …]
//   gather        y[i, j] = x[index[i, j], j]          dx = scatter_add(0, index, dy)
//   scatter_add   y = x; y[index[i, j], j] += s[i, j]  dx = dy, ds = gather(dy, index)
//
// These ops save only the indices. embedding is an index_select of rows.
#include "gradus/ops/indexing.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "gradus/engine/apply.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {
namespace {

/// Throws IndexError for the first entry of the contiguous `index` outside [0, n).
void check_range(const char* op, const char* what, const Tensor& index, std::int64_t n,
                 const char* advice = "") {
  const auto* first = index.data<std::int64_t>();
  const std::int64_t count = index.numel();
  for (std::int64_t k = 0; k < count; ++k) {
    if (static_cast<std::uint64_t>(first[k]) < static_cast<std::uint64_t>(n)) continue;
    fail<IndexError>(op, ": ", what, " ", first[k], " at ", unravel_index(k, index.shape()), " of ",
                     index.shape(), " is not in [0, ", n, ")", advice);
  }
}

void check_index(const char* op, const Tensor& index) {
  check_defined(op, index);
  require<DtypeError>(index.dtype() == Dtype::i64, op, ": the index must be i64, got ",
                      index.dtype(), ". Convert with to(x, Dtype::i64).");
}

/// Throws if a size of `index`, other than that along `axis`, exceeds the size of x.
void check_fits(const char* op, const Tensor& x, int axis, const Tensor& index) {
  Shape room = x.shape();
  room[axis] = std::numeric_limits<std::int64_t>::max();
  const bool fits = std::equal(index.shape().begin(), index.shape().end(), room.begin(), room.end(),
                               std::less_equal<>());
  require<ShapeError>(fits, op, ": the index ", index.shape(), " does not match x ", x.shape(),
                      ". It must have the same number of axes, and must not be larger than x ",
                      "along any axis except ", axis, ".");
}

/// Returns index [n] viewed as `shape`, repeated along all axes except `axis`.
Tensor along(const Tensor& index, int axis, const Shape& shape) {
  Shape line = Shape::filled(shape.rank(), 1);
  line[axis] = index.numel();
  return expand(reshape(index, line), shape);
}

/// y[o, i, :] = x[o, index[i], :] for x [outer, n, inner].
template <class T>
void copy_positions(const T* x, std::int64_t outer, std::int64_t n, std::int64_t inner,
                    const Tensor& index, T* y) {
  const auto* from = index.data<std::int64_t>();
  const std::int64_t count = index.numel();
  parallel_for(outer * count, rows_grain(inner), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      std::copy_n(x + (row / count * n + from[row % count]) * inner, inner, y + row * inner);
  });
}

/// Calls f(index[p], x at p, source at p) for each position p of `index`, with x at position 0 of
/// `axis`. A single thread processes each line along `axis`, because elements of a line may have
/// the same target.
template <class T, class S, class F>
void for_each_picked(const Tensor& index, int axis, const Strides& x_strides, T* x,
                     const Strides& s_strides, S* source, F f) {
  Shape lines = index.shape();
  const std::int64_t m = lines[axis];
  lines[axis] = 1;
  const auto* at = index.data<std::int64_t>();
  const std::int64_t index_step = index.strides()[axis], s_step = s_strides[axis];
  const Strides strides[] = {index.strides(), x_strides, s_strides};
  for_each_row(lines, strides, [&](const Offsets& first, std::int64_t n, const Offsets& step) {
    const auto pick = [&](std::int64_t i, std::int64_t k) {
      f(at[first[0] + i * step[0] + k * index_step], x + first[1] + i * step[1],
        source + first[2] + i * step[2] + k * s_step);
    };
    // Traverse in memory order.
    if (s_step == 1) {
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t k = 0; k < m; ++k) pick(i, k);
    } else {
      for (std::int64_t k = 0; k < m; ++k)
        for (std::int64_t i = 0; i < n; ++i) pick(i, k);
    }
  });
}

}  // namespace

namespace op {

struct IndexSelect final : Op {
  int axis;
  bool embeds;
  std::optional<std::int64_t> padding_idx;  // this row receives no gradient
  Shape from;
  Saved index;
  IndexSelect(int axis, const Shape& from, bool embeds = false,
              std::optional<std::int64_t> padding_idx = {})
      : axis(axis), embeds(embeds), padding_idx(padding_idx), from(from) {}
  const char* name() const override { return embeds ? "embedding" : "index_select"; }

  Tensor forward(const Tensor& x, const Tensor& positions) {
    const Tensor packed = kernel::contiguous(x), at = kernel::contiguous(positions);
    check_range(
        name(), embeds ? "id" : "index", at, from[axis],
        embeds ? ". Use a larger vocabulary, or map unknown tokens to an id in this range." : "");
    index = at;
    Shape shape;
    std::int64_t outer = 1, inner = 1;
    for (int a = 0; a < from.rank(); ++a) {
      if (a != axis) {
        shape.push_back(from[a]);
        (a < axis ? outer : inner) *= from[a];
      } else {
        for (const std::int64_t size : at.shape()) shape.push_back(size);
      }
    }
    Tensor y = Tensor::empty(shape, x.dtype());
    dispatch(x.dtype(), [&]<class T>() {
      copy_positions(packed.data<T>(), outer, from[axis], inner, at, y.mutable_data<T>());
    });
    return y;
  }

  Gradients backward(const Tensor& upstream, const NeedsGrad&) override {
    Tensor at = kernel::reshaped(index.value(), {index.value().numel()});
    Shape picked = from;
    picked[axis] = at.numel();
    Tensor dy = reshape(upstream, picked);
    if (const Tensor kept = without_padding(at); kept.defined()) {
      dy = index_select(dy, axis, kept);
      at = index_select(at, 0, kept);
    }
    // Returns only these rows, because the gradient of all other rows is 0.
    if (axis == 0 && !GradMode::enabled()) return {Gradient::rows(dy, at), {}};
    return {scatter_add(zeros(from, dy.dtype()), axis, along(at, axis, dy.shape()), dy), {}};
  }

  /// Returns the positions without padding_idx, or an undefined tensor if there is no padding.
  Tensor without_padding(const Tensor& at) const {
    if (!padding_idx) return {};
    const std::vector<std::int64_t> all = at.to_vector<std::int64_t>();
    std::vector<std::int64_t> kept;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i] != *padding_idx) kept.push_back(static_cast<std::int64_t>(i));
    if (kept.size() == all.size()) return {};
    return gradus::tensor(kept);
  }
};

struct Gather final : Op {
  int axis;
  Shape from;
  Saved index;
  Gather(int axis, const Shape& from) : axis(axis), from(from) {}
  const char* name() const override { return "gather"; }
  Tensor forward(const Tensor& x, const Tensor& positions) {
    const Tensor at = kernel::contiguous(positions);
    check_range("gather", "index", at, from[axis]);
    index = at;
    Tensor y = Tensor::empty(at.shape(), x.dtype());
    const std::int64_t step = x.strides()[axis];
    dispatch(x.dtype(), [&]<class T>() {
      for_each_picked(at, axis, x.strides(), x.data<T>(), y.strides(), y.mutable_data<T>(),
                      [=](std::int64_t k, const T* from, T* to) { *to = from[k * step]; });
    });
    return y;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {scatter_add(zeros(from, dy.dtype()), axis, index.value(), dy), {}};
  }
};

struct ScatterAdd final : Op {
  int axis;
  Saved index;
  explicit ScatterAdd(int axis) : axis(axis) {}
  const char* name() const override { return "scatter_add"; }
  Tensor forward(const Tensor& x, const Tensor& positions, const Tensor& source) {
    const Tensor at = kernel::contiguous(positions);
    check_range("scatter_add", "index", at, x.shape()[axis]);
    index = at;
    Tensor y = kernel::copy(x);
    const std::int64_t step = y.strides()[axis];
    dispatch_number("scatter_add", x.dtype(), [&]<class T>() {
      for_each_picked(at, axis, y.strides(), y.mutable_data<T>(), source.strides(),
                      source.data<T>(),
                      [=](std::int64_t k, T* to, const T* from) { to[k * step] += *from; });
    });
    return y;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    return {dy, {}, needs_grad(2) ? gather(dy, axis, index.value()) : Tensor()};
  }
};

struct OneHot final : Op {
  std::int64_t classes;
  Dtype dtype;
  OneHot(std::int64_t classes, Dtype dtype) : classes(classes), dtype(dtype) {}
  const char* name() const override { return "one_hot"; }
  Tensor forward(const Tensor& index) {
    const Tensor at = kernel::contiguous(index);
    check_range("one_hot", "class", at, classes);
    Shape shape = index.shape();
    shape.push_back(classes);
    Tensor y = Tensor::empty(shape, dtype);
    y.fill_(0);
    const auto* hot = at.data<std::int64_t>();
    dispatch(dtype, [&]<class T>() {
      T* out = y.mutable_data<T>();
      for (std::int64_t k = 0; k < at.numel(); ++k) out[k * classes + hot[k]] = T(1);
    });
    return y;
  }
};

}  // namespace op

Tensor index_select(const Tensor& x, int axis, const Tensor& index) {
  axis = check_axis("index_select", x, axis);
  check_index("index_select", index);
  require<ShapeError>(index.rank() == 1, "index_select: an index ", index.shape(), " into ",
                      x.shape(), " must have one axis. Use gather() for more.");
  return apply(op::IndexSelect(axis, x.shape()), x, index);
}

Tensor gather(const Tensor& x, int axis, const Tensor& index) {
  axis = check_axis("gather", x, axis);
  check_index("gather", index);
  check_fits("gather", x, axis, index);
  return apply(op::Gather(axis, x.shape()), x, index);
}

Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source) {
  check_defined("scatter_add", x, source);
  check_index("scatter_add", index);
  axis = normalize_axis("scatter_add", axis, x.rank());
  check_fits("scatter_add", x, axis, index);
  require<ShapeError>(source.shape() == index.shape(), "scatter_add: the source is ",
                      source.shape(), " but the index is ", index.shape(),
                      ". Their shapes must be equal.");
  require<DtypeError>(source.dtype() == x.dtype() && x.dtype() != Dtype::bool_,
                      "scatter_add: the source and x must have the same numeric dtype, got ",
                      source.dtype(), " and ", x.dtype());
  return apply(op::ScatterAdd(axis), x, index, source);
}

Tensor one_hot(const Tensor& index, std::int64_t classes, Dtype dtype) {
  check_index("one_hot", index);
  require(classes >= 1, "one_hot: classes must be at least 1, got ", classes);
  return apply(op::OneHot(classes, dtype), index);
}

Tensor embedding(const Tensor& weight, const Tensor& ids, std::optional<std::int64_t> padding_idx) {
  check_defined("embedding", weight);
  check_index("embedding", ids);
  require<ShapeError>(weight.rank() == 2, "embedding: the weight must be [vocabulary, width], got ",
                      weight.shape());
  require(!padding_idx || (0 <= *padding_idx && *padding_idx < weight.size(0)),
          "embedding: padding_idx ", padding_idx.value_or(0), " is not a row of ", weight.shape(),
          ". Use one in [0, ", weight.size(0), "), or none.");
  return apply(op::IndexSelect(0, weight.shape(), true, padding_idx), weight, ids);
}

Tensor Tensor::operator[](const Tensor& index) const {
  check_defined("[]", *this, index);
  if (index.dtype() != Dtype::bool_) {
    Shape shape = index.shape();
    for (int axis = 1; axis < rank(); ++axis) shape.push_back(size(axis));
    return gradus::reshape(gradus::index_select(*this, 0, gradus::flatten(index)), shape);
  }
  Shape shape = {index.numel()};
  for (int axis = 0; axis < rank(); ++axis) {
    require<ShapeError>(axis >= index.rank() || size(axis) == index.size(axis), "[]: a mask ",
                        index.shape(), " does not fit ", shape_,
                        ". Its sizes must be those of the first axes.");
    if (axis >= index.rank()) shape.push_back(size(axis));
  }
  require<ShapeError>(index.rank() <= rank(), "[]: a mask ", index.shape(), " has more axes than ",
                      shape_, ". Use at most as many axes.");
  const std::vector<bool> chosen = index.to_vector<bool>();
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i]) rows.push_back(static_cast<std::int64_t>(i));
  return gradus::index_select(gradus::reshape(*this, shape), 0, tensor(rows));
}

}  // namespace gradus
