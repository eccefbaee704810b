// Comparisons and logic, which have no derivative, and selection:
//
//   where        y = c ? a : b         da = c ? dy : 0    db = c ? 0 : dy
//   masked_fill  y = mask ? value : x  dx = mask ? 0 : dy
//
// Selection saves only the condition. Gradients are selected rather than multiplied by 0 or 1, so
// that NaN and ∞ do not propagate.

#include "gradus/ops/logic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "gradus/engine/apply.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/reduce.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"
#include "gradus/ops/kernels/map.h"
#include "gradus/ops/kernels/rows.h"

namespace gradus {
namespace {

/// y[i] = c[i] ? a[i] : b[i]. Loads both values, and bools as bytes, so that the loop vectorizes.
template <class T>
GRADUS_INLINE void select_row(StridedRow<unsigned char> c, StridedRow<T> a, StridedRow<T> b, T* y,
                              std::int64_t n) {
  const auto choose = [=](auto from_a, auto from_b) {
    for (std::int64_t i = 0; i < n; ++i) {
      const T left = from_a(i), right = from_b(i);
      y[i] = c.data[i] != 0 ? left : right;
    }
  };
  const auto each = [](const T* x) { return [x](std::int64_t i) { return x[i]; }; };
  const auto same = [](const T* x) { return [v = *x](std::int64_t) { return v; }; };
  // The last loop handles all strides; the others are fast paths.
  if (c.stride == 1 && a.stride == 1 && b.stride == 1)
    choose(each(a.data), each(b.data));
  else if (c.stride == 1 && a.stride == 1 && b.stride == 0)
    choose(each(a.data), same(b.data));
  else if (c.stride == 1 && a.stride == 0 && b.stride == 1)
    choose(same(a.data), each(b.data));
  else
    for (std::int64_t i = 0; i < n; ++i)
      y[i] = c.data[i * c.stride] != 0 ? a.data[i * a.stride] : b.data[i * b.stride];
}

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
      simd::run<select_row<T>>(StridedRow<unsigned char>{which + at[0], step[0]},
                               StridedRow<T>{left + at[1], step[1]},
                               StridedRow<T>{right + at[2], step[2]}, to + at[3], n);
    });
  });
  return y;
}

}  // namespace

namespace op {

template <class Relation>
struct Compare final : Op {
  const char* label;
  Scalar number;

  explicit Compare(const char* label, Scalar number = 0) : label(label), number(number) {}
  const char* name() const override { return label; }

  Tensor forward(const Tensor& a, const Tensor& b) {
    check_pair(name(), a, b);
    Tensor y = empty_for(name(), a, b, Dtype::bool_);
    dispatch_number(name(), a.dtype(), [&]<class T>() { zip_into<T, bool>(y, a, b, Relation{}); });
    return y;
  }

  Tensor forward(const Tensor& x) {
    check_defined(name(), x);
    Tensor y = Tensor::empty(x.shape(), Dtype::bool_);
    dispatch_number(name(), x.dtype(), [&]<class T>() {
      if constexpr (std::is_same_v<T, std::int64_t>)
        compare_integers(y, x);
      else  // converts the number to the tensor's dtype
        compare<T>(y, x, static_cast<T>(number.real()));
    });
    return y;
  }

 private:
  /// Compares exactly: 2.5 is not rounded, and large integers keep all bits.
  void compare_integers(Tensor& y, const Tensor& x) const {
    const double c = number.real();
    const bool in_range = c >= -0x1p63 && c < 0x1p63;
    if (number.is_integer())
      compare<std::int64_t>(y, x, number.integer());
    else if (in_range && c == std::trunc(c))
      compare<std::int64_t>(y, x, static_cast<std::int64_t>(c));
    else  // a fraction (below 2⁵³) or out of range: comparing as double is exact
      compare<std::int64_t>(y, x, in_range ? c : c * std::numeric_limits<double>::infinity());
  }

  template <class T, class C>
  static void compare(Tensor& y, const Tensor& x, C c) {
    map_into<T, bool>(y, x, [c](auto v) { return Relation{}(static_cast<C>(v), c); });
  }
};

template <class Relation>
struct Logical : Op {
  Tensor forward(const Tensor& a, const Tensor& b) {
    check_bool(name(), a);
    check_bool(name(), b);
    Tensor y = empty_for(name(), a, b, Dtype::bool_);
    zip_into<bool>(y, a, b, Relation{});
    return y;
  }
};

struct LogicalAnd final : Logical<std::logical_and<>> {
  const char* name() const override { return "logical_and"; }
};

struct LogicalOr final : Logical<std::logical_or<>> {
  const char* name() const override { return "logical_or"; }
};

struct LogicalXor final : Logical<std::not_equal_to<>> {
  const char* name() const override { return "logical_xor"; }
};

struct LogicalNot final : Op {
  const char* name() const override { return "logical_not"; }
  Tensor forward(const Tensor& x) {
    check_bool(name(), x);
    Tensor y = Tensor::empty_like(x);
    map_into<bool>(y, x, [](bool v) { return !v; });
    return y;
  }
};

template <class Self>
struct Test : Op {
  Tensor forward(const Tensor& x) {
    check_float(name(), x);
    Tensor y = Tensor::empty(x.shape(), Dtype::bool_);
    dispatch_float(name(), x.dtype(), [&]<class T>() {
      map_into<T, bool>(y, x, [](auto v) { return Self::value(v); });
    });
    return y;
  }
};

struct IsFinite final : Test<IsFinite> {
  const char* name() const override { return "isfinite"; }
  static GRADUS_INLINE bool value(auto v) { return v - v == 0; }  // v − v is NaN for ±∞ and NaN
};

struct IsNan final : Test<IsNan> {
  const char* name() const override { return "isnan"; }
  static GRADUS_INLINE bool value(auto v) { return v != v; }
};

/// all (if `every`) or any, along an axis.
struct Quantifier final : Op {
  bool every;
  Reduced r;

  Quantifier(bool every, const Reduced& r) : every(every), r(r) {}
  const char* name() const override { return every ? "all" : "any"; }

  Tensor forward(const Tensor& x) {
    const Groups g = groups_of(x, r);
    Tensor y = Tensor::empty(r.shape, Dtype::bool_);
    const bool* from = g.x.data<bool>();
    bool* to = y.mutable_data<bool>();
    parallel_for(g.outer, rows_grain(g.n * g.inner), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t o = begin; o < end; ++o) {
        bool* row = to + o * g.inner;
        std::fill_n(row, g.inner, every);
        for (std::int64_t i = 0; i < g.n; ++i)
          for (std::int64_t c = 0; c < g.inner; ++c)
            if (from[(o * g.n + i) * g.inner + c] != every) row[c] = !every;
      }
    });
    return y;
  }
};

struct Where final : Op {
  Saved condition;

  const char* name() const override { return "where"; }

  Tensor forward(const Tensor& c, const Tensor& a, const Tensor& b) {
    condition = c;
    const Shape shape =
        broadcast_shapes(name(), c.shape(), broadcast_shapes(name(), a.shape(), b.shape()));
    return select(c, a, b, shape);
  }

  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    const Tensor c = condition.value(), zero = zeros({}, dy.dtype());
    Gradient da, db;
    if (needs_grad(1)) da = where(c, dy, zero);
    if (needs_grad(2)) db = where(c, zero, dy);
    return {Gradient{}, da, db};
  }
};

struct MaskedFill final : Op {
  Saved mask;
  Scalar value;

  explicit MaskedFill(Scalar value) : value(value) {}
  const char* name() const override { return "masked_fill"; }

  Tensor forward(const Tensor& x, const Tensor& m) {
    mask = m;
    return select(m, full({}, value, x.dtype()), x, x.shape());
  }

  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {masked_fill(dy, mask.value(), 0), Gradient{}};
  }
};

}  // namespace op

namespace {

template <class Relation>
Tensor compare(const char* name, const Tensor& a, const Tensor& b) {
  return gradus::apply(op::Compare<Relation>(name), a, b);
}

template <class Relation>
Tensor compare(const char* name, const Tensor& a, Scalar b) {
  return gradus::apply(op::Compare<Relation>(name, b), a);
}

Tensor quantify(bool every, const Tensor& x, int axis, bool keepdim) {
  const char* name = every ? "all" : "any";
  check_bool(name, x);
  return apply(op::Quantifier{every, reduced(name, x, {axis}, keepdim)}, x);
}

bool contains(const char* op, const Tensor& input, bool wanted) {
  check_bool(op, input);
  const Tensor x = kernel::contiguous(input);
  const auto size = static_cast<std::size_t>(x.numel());
  return size > 0 && std::memchr(x.data<bool>(), wanted, size) != nullptr;
}

}  // namespace

Tensor equal(const Tensor& a, const Tensor& b) { return compare<std::equal_to<>>("equal", a, b); }
Tensor not_equal(const Tensor& a, const Tensor& b) {
  return compare<std::not_equal_to<>>("not_equal", a, b);
}
Tensor less(const Tensor& a, const Tensor& b) { return compare<std::less<>>("less", a, b); }
Tensor less_equal(const Tensor& a, const Tensor& b) {
  return compare<std::less_equal<>>("less_equal", a, b);
}
Tensor greater(const Tensor& a, const Tensor& b) {
  return compare<std::greater<>>("greater", a, b);
}
Tensor greater_equal(const Tensor& a, const Tensor& b) {
  return compare<std::greater_equal<>>("greater_equal", a, b);
}
Tensor equal(const Tensor& a, Scalar b) { return compare<std::equal_to<>>("equal", a, b); }
Tensor not_equal(const Tensor& a, Scalar b) {
  return compare<std::not_equal_to<>>("not_equal", a, b);
}
Tensor less(const Tensor& a, Scalar b) { return compare<std::less<>>("less", a, b); }
Tensor less_equal(const Tensor& a, Scalar b) {
  return compare<std::less_equal<>>("less_equal", a, b);
}
Tensor greater(const Tensor& a, Scalar b) { return compare<std::greater<>>("greater", a, b); }
Tensor greater_equal(const Tensor& a, Scalar b) {
  return compare<std::greater_equal<>>("greater_equal", a, b);
}

Tensor logical_and(const Tensor& a, const Tensor& b) { return apply(op::LogicalAnd{}, a, b); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return apply(op::LogicalOr{}, a, b); }
Tensor logical_xor(const Tensor& a, const Tensor& b) { return apply(op::LogicalXor{}, a, b); }
Tensor logical_not(const Tensor& x) { return apply(op::LogicalNot{}, x); }
Tensor isfinite(const Tensor& x) { return apply(op::IsFinite{}, x); }
Tensor isnan(const Tensor& x) { return apply(op::IsNan{}, x); }

bool all(const Tensor& x) { return !contains("all", x, false); }
bool any(const Tensor& x) { return contains("any", x, true); }
Tensor all(const Tensor& x, int axis, bool keepdim) { return quantify(true, x, axis, keepdim); }
Tensor any(const Tensor& x, int axis, bool keepdim) { return quantify(false, x, axis, keepdim); }

Tensor where(const Tensor& condition, const Tensor& a, Scalar b) {
  return where(condition, a, full({}, b, a.dtype()));
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  check_bool("where", condition);
  check_pair("where", a, b);
  return apply(op::Where{}, condition, a, b);
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value) {
  check_defined("masked_fill", x);
  check_bool("masked_fill", mask);
  require<ShapeError>(broadcast_shapes("masked_fill", x.shape(), mask.shape()) == x.shape(),
                      "masked_fill: the mask ", mask.shape(), " does not broadcast to x ",
                      x.shape(), ". Expand x to the mask's shape first.");
  return apply(op::MaskedFill{value}, x, mask);
}

}  // namespace gradus
