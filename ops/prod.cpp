// prod: the product of each group's elements.
//
//   y = Π x        dx_i = dy · Π_{j ≠ i} x_j
//
// y / x_i would be the shorter way to the products of the others, but not with zeros in a group.
// They are computed as products, so every derivative is right with none, one or several zeros.
#include "gradus/engine/apply.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/kernels/fold.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {
namespace {

/// x [..., n] → Π_{j ≠ i} x_j [..., n]. Up a tree: products of pairs, of pairs of pairs …; down:
/// what lies outside a node is what lies outside its parent, times its sibling.
Tensor products_of_others(const Tensor& x) {
  const std::int64_t n = x.size(-1);
  if (n <= 1) return ones_like(x);
  const Tensor even = n % 2 ? pad(x, -1, 0, 1, 1.0) : x;
  Shape shape = even.shape();
  shape[shape.rank() - 1] /= 2;
  shape.push_back(2);
  const Tensor pairs = reshape(even, shape);  // [..., n/2, 2]
  const Tensor parents = select(pairs, -1, 0) * select(pairs, -1, 1);
  const Tensor outside = unsqueeze(products_of_others(parents), -1) * flip(pairs, {-1});
  return slice(reshape(outside, even.shape()), -1, 0, n);
}

/// Axes with the reduced ones last: permute by it makes groups rows.
Axes reduced_last(const Reduced& r) {
  Axes order;
  for (int axis = 0; axis < r.from.rank(); ++axis)
    if (std::find(r.axes.begin(), r.axes.end(), axis) == r.axes.end()) order.push_back(axis);
  for (const std::int64_t axis : r.axes) order.push_back(axis);
  return order;
}

Axes inverse(const Axes& order) {
  Axes back = order;
  for (int i = 0; i < order.rank(); ++i) back[static_cast<int>(order[i])] = i;
  return back;
}

}  // namespace

namespace op {

struct Prod final : OverAxes {
  Saved x;
  using OverAxes::OverAxes;
  const char* name() const override { return "prod"; }
  Tensor forward(const Tensor& in) {
    x = in;
    return dispatch_float("prod", in.dtype(), [&]<class T>() {
      return fold_to<MultiplyRule<T>, T>(groups_of(in, r), r.shape, nullptr,
                                         [](std::int64_t, double product) { return product; });
    });
  }
  Gradients backward(const Tensor& dy, const Wanted&) override {
    const Axes order = reduced_last(r);
    const Tensor rows = permute(x.value(), order);
    const Tensor others = products_of_others(reshape(rows, {numel(r.kept), r.n}));
    return {kept(dy) * permute(reshape(others, rows.shape()), inverse(order))};
  }
};

}  // namespace op

Tensor prod(const Tensor& x, const Axes& axes, bool keepdim) {
  return apply(op::Prod(reduced("prod", x, axes, keepdim)), x);
}

}  // namespace gradus
