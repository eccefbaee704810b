// Sorting (argmax, argmin, argsort, topk) and random sampling.
//
// Positions have no gradient. sort and topk gather their values at the positions, so dx =
// scatter_add(0, positions, dvalues).
//
// Equal elements keep their order. For NaN, argmax and argmin return the first one, as max and min
// do; topk treats it as the largest; sort puts it last in both directions.
#include "gradus/ops/sort.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gradus/engine/apply.h"
#include "gradus/engine/base/math64.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/reduce.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/kernels/checks.h"

namespace gradus {
namespace {

/// True if a comes before b.
struct Order {
  bool descending;
  bool nan_first;  // otherwise last
  template <class T>
  bool operator()(T a, T b) const {
    const bool a_is_nan = a != a, b_is_nan = b != b;
    if (a_is_nan || b_is_nan) return nan_first ? a_is_nan > b_is_nan : a_is_nan < b_is_nan;
    return descending ? a > b : a < b;
  }
};

template <class T>
struct Line {
  const T* first;
  std::int64_t n, step;
  T operator[](std::int64_t i) const { return first[i * step]; }
};

/// Calls body(line, positions of the line, their step) in parallel for each line of x along `axis`.
/// y has x's shape except along `axis`.
template <class T, class Body>
void for_each_line(const Tensor& x, int axis, Tensor& y, Body body) {
  const Tensor packed = kernel::contiguous(x);
  const T* from = packed.data<T>();
  auto* to = y.mutable_data<std::int64_t>();
  const Groups g = groups_of(packed, reduced("sort", packed, {axis}, false));
  const std::int64_t lines = g.outer * g.inner, out = lines == 0 ? 0 : y.numel() / lines;
  parallel_for(lines, rows_grain(g.n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      const std::int64_t o = line / g.inner, j = line % g.inner;
      body(Line<T>{from + o * g.n * g.inner + j, g.n, g.inner}, to + o * out * g.inner + j,
           g.inner);
    }
  });
}

template <class T>
void write_order(const Line<T>& x, std::int64_t count, Order before, std::int64_t* y,
                 std::int64_t step) {
  if (count == 1) {  // fast path
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < x.n; ++i)
      if (before(x[i], x[best])) best = i;
    *y = best;
    return;
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(x.n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto first = [&](std::int64_t a, std::int64_t b) {
    const T left = x[a], right = x[b];
    return before(left, right) || (!before(right, left) && a < b);
  };
  if (count == x.n)  // faster than partial_sort
    std::sort(order.begin(), order.end(), first);
  else
    std::partial_sort(order.begin(), order.begin() + count, order.end(), first);
  for (std::int64_t i = 0; i < count; ++i) y[i * step] = order[static_cast<std::size_t>(i)];
}

}  // namespace

namespace op {

/// Computes the first `count` positions along the axis in a given order.
struct Positions final : Op {
  const char* label;
  int axis;
  std::int64_t count;
  Shape shape;
  Order order;
  Positions(const char* label, int axis, std::int64_t count, const Shape& shape, Order order)
      : label(label), axis(axis), count(count), shape(shape), order(order) {}
  const char* name() const override { return label; }
  Tensor forward(const Tensor& x) {
    Tensor y = Tensor::empty(shape, Dtype::i64);
    dispatch(x.dtype(), [&]<class T>() {
      for_each_line<T>(x, axis, y, [&](const Line<T>& line, std::int64_t* to, std::int64_t step) {
        write_order(line, count, order, to, step);
      });
    });
    return y;
  }
};

/// With replacement, draws the first position whose running sum exceeds u · total, where u is
/// uniform in [0, 1). Without replacement, takes positions in the order of −log(1 − u) / weight,
/// which is equivalent to drawing one by one (Efraimidis & Spirakis 2006).
struct Multinomial final : Op {
  std::int64_t count;
  bool replacement;
  RandomStream random;
  Multinomial(std::int64_t count, bool replacement)
      : count(count), replacement(replacement), random(generator().next()) {}
  const char* name() const override { return "multinomial"; }

  Tensor forward(const Tensor& weights) {
    const int axis = weights.rank() - 1;
    const std::int64_t n = weights.shape()[axis];
    Shape shape = weights.shape();
    shape[axis] = count;
    Tensor y = Tensor::empty(shape, Dtype::i64);
    const Tensor packed = kernel::contiguous(kernel::convert(weights, Dtype::f64));
    const auto* first = packed.data<double>();
    auto* out = y.mutable_data<std::int64_t>();
    const std::int64_t rows = numel(shape) / count;
    parallel_for(rows, rows_grain(n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::span<const double> w(first + row * n, static_cast<std::size_t>(n));
        check_row(row, w);
        if (replacement)
          draw_with(row, w, out + row * count);
        else
          draw_without(row, w, out + row * count);
      }
    });
    return y;
  }

  void check_row(std::int64_t row, std::span<const double> w) const {
    std::int64_t positive = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      require(std::isfinite(w[i]) && w[i] >= 0, "multinomial: weight ", w[i], " at position ", i,
              " of row ", row, " must be finite and not negative");
      positive += w[i] > 0;
    }
    const std::int64_t needed = replacement ? 1 : count;
    require(positive >= needed, "multinomial: row ", row, " has ", positive,
            " weights above 0, but ", needed,
            replacement ? " is needed. Pass a positive weight."
                        : " are to be drawn without replacement. Draw fewer.");
  }

  void draw_with(std::int64_t row, std::span<const double> w, std::int64_t* y) const {
    std::vector<double> running(w.size());
    const double largest = *std::max_element(w.begin(), w.end());  // keeps the sum finite
    double total = 0;
    for (std::size_t i = 0; i < w.size(); ++i) running[i] = total += w[i] / largest;
    for (std::int64_t i = 0; i < count; ++i) {
      // total ≥ 1 and uniform() ≤ 1 − 2⁻⁵³, so the product rounds to less than total
      const double u = random.uniform(row * count + i) * total;
      y[i] = std::upper_bound(running.begin(), running.end(), u) - running.begin();
    }
  }

  void draw_without(std::int64_t row, std::span<const double> w, std::int64_t* y) const {
    const auto n = static_cast<std::int64_t>(w.size());
    std::vector<std::pair<double, std::int64_t>> keys;
    for (std::int64_t i = 0; i < n; ++i) {
      const double weight = w[static_cast<std::size_t>(i)];
      if (weight > 0) keys.emplace_back(-math64::log1p(-random.uniform(row * n + i)) / weight, i);
    }
    std::partial_sort(keys.begin(), keys.begin() + count, keys.end());
    for (std::int64_t i = 0; i < count; ++i) y[i] = keys[static_cast<std::size_t>(i)].second;
  }
};

}  // namespace op

namespace {

Tensor arg_extreme(const char* op, const Tensor& x, bool largest, int axis, bool keepdim) {
  const Reduced r = reduced(op, x, {axis}, keepdim);
  require<ShapeError>(r.n > 0, op, ": ", x.shape(), " has no elements along axis ", axis,
                      ". Pass an axis with elements.");
  return apply(op::Positions(op, static_cast<int>(r.axes[0]), 1, r.shape, {largest, true}), x);
}

}  // namespace

Tensor argmax(const Tensor& x, int axis, bool keepdim) {
  return arg_extreme("argmax", x, true, axis, keepdim);
}

Tensor argmin(const Tensor& x, int axis, bool keepdim) {
  return arg_extreme("argmin", x, false, axis, keepdim);
}

Tensor argsort(const Tensor& x, int axis, bool descending) {
  axis = check_axis("argsort", x, axis);
  const Shape& shape = x.shape();
  return apply(op::Positions("argsort", axis, shape[axis], shape, {descending, false}), x);
}

SortResult sort(const Tensor& x, int axis, bool descending) {
  axis = check_axis("sort", x, axis);
  const Tensor indices = argsort(x, axis, descending);
  return {gather(x, axis, indices), indices};
}

SortResult topk(const Tensor& x, std::int64_t k, int axis) {
  axis = check_axis("topk", x, axis);
  Shape shape = x.shape();
  require(0 <= k && k <= shape[axis], "topk: k must be from 0 to ", shape[axis],
          ", the size of axis ", axis, " of ", shape, ", got ", k);
  shape[axis] = k;
  const Tensor indices = apply(op::Positions("topk", axis, k, shape, {true, true}), x);
  return {gather(x, axis, indices), indices};
}

Tensor multinomial(const Tensor& weights, std::int64_t count, bool replacement) {
  check_defined("multinomial", weights);
  require<ShapeError>(weights.rank() >= 1,
                      "multinomial: the weights must have at least one axis, got []");
  require<DtypeError>(is_float(weights.dtype()),
                      "multinomial: the weights must be f32 or f64, got ", weights.dtype());
  require(count >= 1, "multinomial: count must be at least 1, got ", count);
  return apply(op::Multinomial(count, replacement), weights);
}

}  // namespace gradus
