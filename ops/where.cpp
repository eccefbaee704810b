// Choosing by a condition; declared in logic.h.
//
//   where        y = c ? a : b         da = c ? dy : 0    db = c ? 0 : dy
//   masked_fill  y = mask ? value : x  dx = mask ? 0 : dy
//
// Only the condition is remembered. A gradient is chosen, not multiplied by 0 or 1: one that is
// infinite or NaN does not reach the values that were not chosen.

#include "gradus/engine/apply.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/kernels/map.h"
#include "gradus/ops/logic.h"

namespace gradus {
namespace {

/// y[i] = c[i] ? a[i] : b[i]. Both are loaded first, so that the choice is no branch, and the bools
/// are read as the bytes that they are: so compilers vectorise it.
template <class T>
GRADUS_INLINE void select_row(const unsigned char* c, std::int64_t c_step, const T* a,
                              std::int64_t a_step, const T* b, std::int64_t b_step, T* y,
                              std::int64_t n) {
  if (c_step == 1 && a_step == 1 && b_step == 1) {
    for (std::int64_t i = 0; i < n; ++i) {
      const T from_a = a[i], from_b = b[i];
      y[i] = c[i] != 0 ? from_a : from_b;
    }
  } else if (c_step == 1 && a_step == 1 && b_step == 0) {
    const T from_b = *b;
    for (std::int64_t i = 0; i < n; ++i) {
      const T from_a = a[i];
      y[i] = c[i] != 0 ? from_a : from_b;
    }
  } else if (c_step == 1 && a_step == 0 && b_step == 1) {
    const T from_a = *a;
    for (std::int64_t i = 0; i < n; ++i) {
      const T from_b = b[i];
      y[i] = c[i] != 0 ? from_a : from_b;
    }
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i] = c[i * c_step] != 0 ? a[i * a_step] : b[i * b_step];
  }
}

/// c ? a : b, all broadcast to `shape`.
Tensor select(const Tensor& c, const Tensor& a, const Tensor& b, const Shape& shape) {
  Tensor y = Tensor::empty(shape, a.dtype());
  const Strides strides[] = {broadcast_strides(c.shape(), c.strides(), shape),
                             broadcast_strides(a.shape(), a.strides(), shape),
                             broadcast_strides(b.shape(), b.strides(), shape), y.strides()};
  dispatch(a.dtype(), [&]<class T>() {
    const auto* which = reinterpret_cast<const unsigned char*>(c.data<bool>());
    const T *left = a.data<T>(), *right = b.data<T>();
    T* to = y.mutable_data<T>();
    for_each_row(shape, strides, [&](const Offsets& at, std::int64_t n, const Offsets& step) {
      simd::run<select_row<T>>(which + at[0], step[0], left + at[1], step[1], right + at[2],
                               step[2], to + at[3], n);
    });
  });
  return y;
}

}  // namespace

namespace op {

struct Where final : Op {
  Saved condition;
  Shape a_shape, b_shape;

  const char* name() const override { return "where"; }

  Tensor forward(const Tensor& c, const Tensor& a, const Tensor& b) {
    condition = c;
    a_shape = a.shape();
    b_shape = b.shape();
    const Shape shape =
        broadcast_shapes(name(), c.shape(), broadcast_shapes(name(), a_shape, b_shape));
    return select(c, a, b, shape);
  }

  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    const Tensor c = condition.value(), zero = zeros({}, dy.dtype());
    Gradient da, db;
    if (wants(1)) da = where(c, dy, zero);
    if (wants(2)) db = where(c, zero, dy);
    return {Gradient{}, da, db};
  }
};

struct MaskedFill final : Op {
  Saved mask;
  double value;

  explicit MaskedFill(double value) : value(value) {}
  const char* name() const override { return "masked_fill"; }

  Tensor forward(const Tensor& x, const Tensor& m) {
    mask = m;
    return select(m, full({}, value, x.dtype()), x, x.shape());
  }

  Gradients backward(const Tensor& dy, const Wanted&) override {
    return {masked_fill(dy, mask.value(), 0), Gradient{}};
  }
};

}  // namespace op

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  check_bool("where", condition);
  check_pair("where", a, b);
  return apply(op::Where{}, condition, a, b);
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  check_defined("masked_fill", x);
  check_bool("masked_fill", mask);
  require<ShapeError>(broadcast_shapes("masked_fill", x.shape(), mask.shape()) == x.shape(),
                      "masked_fill: the mask ", mask.shape(), " does not fit into x ", x.shape(),
                      ": expand x to the mask's shape first");
  return apply(op::MaskedFill{value}, x, mask);
}

}  // namespace gradus
