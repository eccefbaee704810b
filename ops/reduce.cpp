// Reductions of each group of n elements to one value y.
//
//   sum         y = Σ x                     dx = dy
//   mean        y = Σ x / n                 dx = dy / n
//   var         y = Σ (x − x̄)² / m          dx = dy · 2 (x − x̄) / m          m = n − correction
//   std         y = √var                    dx = dy · (x − x̄) / (m y)        0 where y = 0
//   max, min    y = the extreme             dx = dy / k at the k elements that equal y, 0 elsewhere
//   logsumexp   y = log Σ exp x             dx = dy · exp(x − y)
//   norm        y = √ Σ x²                  dx = dy · x / y                  0 where y = 0
//   prod        y = Π x                     dx_i = dy · Π_{j ≠ i} x_j
//   cumsum      y_i = Σ_{j ≤ i} x_j         dx_i = Σ_{j ≥ i} dy_j
//
// sum and mean save only shapes and return views of dy; the others save x, and also y where the
// formula uses it. prod multiplies the other elements, because y / x_i would be wrong with zeros.
#include "gradus/ops/reduce.h"

#include <cmath>

#include "gradus/engine/apply.h"
#include "gradus/engine/base/math64.h"
#include "gradus/engine/reduce.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {
namespace {

/// Computes finish(Σ (x − x̄)² / m), in two passes to avoid cancellation.
template <class Finish>
Tensor spread_of(const char* op, const Tensor& x, const Reduced& r, double m, Finish finish) {
  const Groups g = groups_of(x, r);
  return dispatch_float(op, x.dtype(), [&]<class T>() {
    std::vector<double> means = fold<AddRule<T>, T>(g);
    for (double& mean : means) mean /= static_cast<double>(r.n);
    return fold_to<SquareRule<T>, T>(g, r.shape, means.data(),
                                     [&](std::int64_t, double s) { return finish(s / m); });
  });
}

/// Returns n − correction, or 0 if negative, because a divisor of 0 yields NaN.
double divisor(const char* op, const Reduced& r, int correction) {
  require(correction >= 0, op, ": correction must not be negative, got ", correction,
          ". Use 1 or 0.");
  return std::max(0.0, static_cast<double>(r.n) - correction);
}

const Reduced& require_nonempty(const char* op, const Reduced& r) {
  require<ShapeError>(r.n > 0, op, ": ", r.from, " has no elements along axes ", r.axes,
                      ", so its ", op, " is undefined. Reduce axes with elements.");
  return r;
}

/// Replaces 0 with 1, so that y can be a divisor. The dividend is 0 there.
Tensor zeros_to_ones(const Tensor& y) { return masked_fill(y, equal(y, 0.0), 1.0); }

/// Computes x [m, n] → Π_{j ≠ i} x_j [m, n] with a tree of pair products. On the way down, the
/// product outside a node is the product outside its parent times the node's sibling.
Tensor products_of_others(const Tensor& x) {
  const std::int64_t n = x.size(1);
  if (n <= 1) return ones_like(x);
  const Tensor even = n % 2 ? pad(x, 1, 0, 1, 1.0) : x;
  const Tensor pairs = reshape(even, {x.size(0), even.size(1) / 2, 2});
  const Tensor parents = select(pairs, -1, 0) * select(pairs, -1, 1);
  const Tensor outside = unsqueeze(products_of_others(parents), -1) * flip(pairs, {-1});
  return slice(reshape(outside, even.shape()), 1, 0, n);
}

/// Returns all axes with the reduced ones last.
Axes reduced_last(const Reduced& r) {
  Axes order;
  for (int axis = 0; axis < r.from.rank(); ++axis)
    if (std::find(r.axes.begin(), r.axes.end(), axis) == r.axes.end()) order.push_back(axis);
  for (const std::int64_t axis : r.axes) order.push_back(axis);
  return order;
}

}  // namespace

namespace op {

struct OverAxes : Op {
  Reduced r;
  explicit OverAxes(const Reduced& r) : r(r) {}
  Tensor kept(const Tensor& y) const { return reshape(y, r.kept); }  // broadcasts to x
  template <template <class> class Rule, class Finish>
  Tensor folded(const Tensor& x, Finish finish) const {
    return dispatch_float(name(), x.dtype(), [&]<class T>() {
      return fold_to<Rule<T>, T>(groups_of(x, r), r.shape, nullptr,
                                 [&](std::int64_t, double value) { return finish(value); });
    });
  }
};

struct Sum final : OverAxes {
  using OverAxes::OverAxes;
  const char* name() const override { return "sum"; }
  Tensor forward(const Tensor& x) { return kernel::sum(name(), x, r); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {expand(kept(dy), r.from)};
  }
};

struct Mean final : OverAxes {
  using OverAxes::OverAxes;
  const char* name() const override { return "mean"; }
  Tensor forward(const Tensor& x) {
    return folded<AddRule>(x, [n = static_cast<double>(r.n)](double sum) { return sum / n; });
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {expand(kept(dy / static_cast<double>(r.n)), r.from)};
  }
};

struct Var final : OverAxes {
  double m;  // n − correction, at least 0
  Saved x;
  Var(const Reduced& r, double m) : OverAxes(r), m(m) {}
  const char* name() const override { return "var"; }
  Tensor forward(const Tensor& in) {
    x = in;
    return spread_of("var", in, r, m, [](double variance) { return variance; });
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    const Tensor in = x.value();
    return {kept(dy * (2 / m)) * (in - mean(in, r.axes, true))};
  }
};

struct Std final : OverAxes {
  double m;
  Saved x, y;
  Std(const Reduced& r, double m) : OverAxes(r), m(m) {}
  const char* name() const override { return "std"; }
  Tensor forward(const Tensor& in) {
    x = in;
    Tensor out = spread_of("std", in, r, m, [](double variance) { return std::sqrt(variance); });
    y = out;
    return out;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    const Tensor in = x.value();
    return {kept(dy / (zeros_to_ones(attached(y)) * m)) * (in - mean(in, r.axes, true))};
  }
};

template <bool kLargest>
struct Extreme final : OverAxes {
  Saved x, y;
  using OverAxes::OverAxes;
  const char* name() const override { return kLargest ? "max" : "min"; }
  Tensor forward(const Tensor& in) {
    x = in;
    Tensor out = dispatch_number(name(), in.dtype(), [&]<class T>() {
      return fold_to<ExtremeRule<T, kLargest>, T>(groups_of(in, r), r.shape, nullptr,
                                                  [](std::int64_t, T value) { return value; });
    });
    y = out;
    return out;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    const Tensor in = x.value();
    const Tensor best = logical_or(equal(in, kept(y.value())), isnan(in));
    const Tensor share = to(best, dy.dtype());
    return {share * (kept(dy) / sum(share, r.axes, true))};
  }
};
using Max = Extreme<true>;
using Min = Extreme<false>;

struct LogSumExp final : OverAxes {
  Saved x, y;
  using OverAxes::OverAxes;
  const char* name() const override { return "logsumexp"; }
  Tensor forward(const Tensor& in) {
    x = in;
    const Groups g = groups_of(in, r);
    Tensor out = dispatch_float("logsumexp", in.dtype(), [&]<class T>() {
      const std::vector<T> extremes = fold<ExtremeRule<T, true>, T>(g);
      std::vector<double> largest(extremes.begin(), extremes.end());
      for (double& m : largest)
        if (!std::isfinite(m)) m = 0;  // exp(±∞ − 0) is correct; ∞ − ∞ would be NaN
      return fold_to<ExpRule<T>, T>(g, r.shape, largest.data(), [&](std::int64_t k, double total) {
        return largest[static_cast<std::size_t>(k)] + math64::log(total);
      });
    });
    y = out;
    return out;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    const Tensor out = attached(y);
    const Tensor nothing = equal(out, -std::numeric_limits<double>::infinity());
    const Tensor finite = masked_fill(out, nothing, 0.0);  // exp(−∞ − 0) = 0 is the gradient
    return {kept(dy) * exp(x.value() - kept(finite))};
  }
};

struct Norm final : OverAxes {
  Saved x, y;
  using OverAxes::OverAxes;
  const char* name() const override { return "norm"; }
  Tensor forward(const Tensor& in) {
    x = in;
    Tensor out = folded<SquareRule>(in, [](double sum) { return std::sqrt(sum); });
    y = out;
    return out;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {kept(dy / zeros_to_ones(attached(y))) * x.value()};
  }
};

struct Prod final : OverAxes {
  Saved x;
  using OverAxes::OverAxes;
  const char* name() const override { return "prod"; }
  Tensor forward(const Tensor& in) {
    x = in;
    return folded<MultiplyRule>(in, [](double product) { return product; });
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    const Axes order = reduced_last(r);
    const Tensor rows = permute(x.value(), order);
    const Tensor others = products_of_others(reshape(rows, {numel(r.kept), r.n}));
    return {kept(dy) * permute(reshape(others, rows.shape()), inverse(order))};
  }
};

/// Computes the cumulative sum along r's only axis, in double.
template <class T>
void cumulate(const Groups& g, T* y) {
  const T* x = g.x.data<T>();
  parallel_for(g.outer, rows_grain(g.n * g.inner), [&](std::int64_t begin, std::int64_t end) {
    std::vector<SumType<T>> total(static_cast<std::size_t>(g.inner));
    for (std::int64_t o = begin; o < end; ++o) {
      std::fill(total.begin(), total.end(), SumType<T>(0));
      for (std::int64_t i = 0; i < g.n; ++i) {
        const std::int64_t first = (o * g.n + i) * g.inner;
        for (std::int64_t j = 0; j < g.inner; ++j) {
          SumType<T>& so_far = total[static_cast<std::size_t>(j)];
          y[first + j] = static_cast<T>(so_far += static_cast<SumType<T>>(x[first + j]));
        }
      }
    }
  });
}

struct Cumsum final : Op {
  int axis;
  explicit Cumsum(int axis) : axis(axis) {}
  const char* name() const override { return "cumsum"; }
  Tensor forward(const Tensor& x) {
    const Tensor packed = kernel::contiguous(x);  // so that groups_of() copies nothing
    const Groups g = groups_of(packed, reduced("cumsum", packed, {axis}, false));
    Tensor y = Tensor::empty(x.shape(), x.dtype());
    return dispatch_number("cumsum", x.dtype(), [&]<class T>() {
      cumulate(g, y.mutable_data<T>());
      return y;
    });
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {flip(cumsum(flip(dy, {axis}), axis), {axis})};
  }
};

}  // namespace op

Tensor sum(const Tensor& x, const Axes& axes, bool keepdim) {
  return apply(op::Sum(reduced("sum", x, axes, keepdim)), x);
}

Tensor mean(const Tensor& x, const Axes& axes, bool keepdim) {
  return apply(op::Mean(reduced("mean", x, axes, keepdim)), x);
}

Tensor var(const Tensor& x, const Axes& axes, bool keepdim, int correction) {
  const Reduced r = reduced("var", x, axes, keepdim);
  return apply(op::Var(r, divisor("var", r, correction)), x);
}

Tensor std(const Tensor& x, const Axes& axes, bool keepdim, int correction) {
  const Reduced r = reduced("std", x, axes, keepdim);
  return apply(op::Std(r, divisor("std", r, correction)), x);
}

Tensor max(const Tensor& x, const Axes& axes, bool keepdim) {
  return apply(op::Max(require_nonempty("max", reduced("max", x, axes, keepdim))), x);
}

Tensor min(const Tensor& x, const Axes& axes, bool keepdim) {
  return apply(op::Min(require_nonempty("min", reduced("min", x, axes, keepdim))), x);
}

Tensor logsumexp(const Tensor& x, const Axes& axes, bool keepdim) {
  return apply(op::LogSumExp(reduced("logsumexp", x, axes, keepdim)), x);
}

Tensor norm(const Tensor& x, const Axes& axes, bool keepdim) {
  return apply(op::Norm(reduced("norm", x, axes, keepdim)), x);
}

Tensor prod(const Tensor& x, const Axes& axes, bool keepdim) {
  return apply(op::Prod(reduced("prod", x, axes, keepdim)), x);
}

Tensor cumsum(const Tensor& x, int axis) {
  return apply(op::Cumsum(check_axis("cumsum", x, axis)), x);
}

}  // namespace gradus
