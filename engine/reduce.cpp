#include "gradus/engine/reduce.h"

#include "gradus/engine/strided.h"

namespace gradus {

Reduced reduced(const char* op, const Tensor& x, const Axes& axes, bool keepdim) {
  require<ValueError>(x.defined(), op, ": the tensor is undefined. Assign a value first.");
  std::array<bool, kMaxRank> gone{};
  for (const std::int64_t given : axes) {
    const auto axis =
        static_cast<std::size_t>(normalize_axis(op, static_cast<int>(given), x.rank()));
    require(!gone[axis], op, ": axis ", given, " appears twice in ", axes,
            ". Name each axis once.");
    gone[axis] = true;
  }
  Reduced r;
  r.from = r.kept = x.shape();
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (axes.rank() > 0 && !gone[static_cast<std::size_t>(axis)]) {
      r.shape.push_back(r.from[axis]);
      continue;
    }
    r.axes.push_back(axis);
    r.n *= r.from[axis];
    r.kept[axis] = 1;
    if (keepdim) r.shape.push_back(1);
  }
  return r;
}

Groups groups_of(const Tensor& x, const Reduced& r) {
  Groups g{x.detach(), 1, r.n, 1};
  const bool any = r.axes.rank() > 0;
  const std::int64_t first = any ? *r.axes.begin() : 0, last = any ? *(r.axes.end() - 1) : 0;
  const auto is_one = [](std::int64_t size) { return size == 1; };
  // No copy is needed if all kept axes between the reduced axes have size 1.
  if (x.is_contiguous() && std::all_of(r.kept.begin() + first, r.kept.begin() + last, is_one)) {
    for (int axis = 0; axis < x.rank(); ++axis) (axis < first ? g.outer : g.inner) *= r.kept[axis];
    return g;
  }
  Shape shape;
  Strides strides;
  for (const bool reducing : {false, true})
    for (int axis = 0; axis < x.rank(); ++axis) {
      const bool is_reduced = std::find(r.axes.begin(), r.axes.end(), axis) != r.axes.end();
      if (is_reduced != reducing) continue;
      shape.push_back(r.from[axis]);
      strides.push_back(x.strides()[axis]);
      if (!reducing) g.outer *= r.from[axis];
    }
  g.x = kernel::contiguous(kernel::strided_view(x, shape, strides, x.offset()));
  return g;
}

Tensor kernel::sum(const char* op, const Tensor& x, const Reduced& r) {
  return dispatch_number(op, x.dtype(), [&]<class T>() {
    return fold_to<AddRule<T>, T>(groups_of(x, r), r.shape, nullptr,
                                  [](std::int64_t, auto total) { return total; });
  });
}

}  // namespace gradus
