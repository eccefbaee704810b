// Arithmetic of two tensors, or of a tensor and a number, element by element.
//
//   c = a + b    da = dc        db = dc
//   c = a − b    da = dc        db = −dc
//   c = a · b    da = dc · b    db = dc · a
//   c = a / b    da = dc / b    db = −(dc / b) · c
//
// Where a or b was broadcast, its gradient is summed back to its shape. An operand is remembered
// only if the other one has a gradient; a number is a member of its operation, so that x · 2 makes
// no tensor of it.

#include "gradus/ops/arithmetic.h"

#include <cmath>

#include "gradus/engine/apply.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/kernels/map.h"

namespace gradus {
namespace op {

struct Add final : Op {
  const char* name() const override { return "add"; }

  Tensor forward(const Tensor& a, const Tensor& b) {
    return zip_numbers(name(), a, b, [](auto u, auto v) { return u + v; });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override { return {dy, dy}; }
};

struct Subtract final : Op {
  const char* name() const override { return "subtract"; }

  Tensor forward(const Tensor& a, const Tensor& b) {
    return zip_numbers(name(), a, b, [](auto u, auto v) { return u - v; });
  }

  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    Gradient da, db;
    if (wants(0)) da = dy;
    if (wants(1)) db = negative(sum_to(dy, shape_of(1)));
    return {da, db};
  }
};

struct Multiply final : Op {
  Saved a, b;

  const char* name() const override { return "multiply"; }

  Tensor forward(const Tensor& left, const Tensor& right) {
    if (right.requires_grad()) a = left;
    if (left.requires_grad()) b = right;
    return zip_numbers(name(), left, right, [](auto u, auto v) { return u * v; });
  }

  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    Gradient da, db;
    if (wants(0)) da = dy * b.value();
    if (wants(1)) db = dy * a.value();
    return {da, db};
  }
};

struct Divide final : Op {
  Saved b, y;

  const char* name() const override { return "divide"; }

  Tensor forward(const Tensor& left, const Tensor& right) {
    Tensor quotient = zip(name(), left, right, [](auto u, auto v) { return u / v; });
    b = right;
    if (right.requires_grad()) y = quotient;
    return quotient;
  }

  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    Gradient da, db;
    const Tensor slope = dy / b.value();
    if (wants(0)) da = slope;
    if (wants(1)) db = negative(sum_to(slope * attached(y), shape_of(1)));
    return {da, db};
  }
};

/// `c` as a number of x's dtype. DtypeError where an i64 tensor would lose a fraction.
template <class T>
T as_element(const char* op, const Tensor& x, double c) {
  if constexpr (std::is_same_v<T, std::int64_t>)
    require<DtypeError>(c == std::trunc(c) && std::abs(c) < 0x1p63, op, ": an i64 tensor ",
                        x.shape(), " and ", c,
                        ", which is no integer: convert with to(x, Dtype::f32)");
  return static_cast<T>(c);
}

struct Scale final : Op {  // y = factor · x,  dx = factor · dy
  double factor;

  explicit Scale(double factor) : factor(factor) {}
  const char* name() const override { return "scale"; }

  Tensor forward(const Tensor& x) {
    check_defined(name(), x);
    return dispatch_number(name(), x.dtype(), [&]<class T>() {
      const T c = as_element<T>(name(), x, factor);
      Tensor y = Tensor::empty_like(x);
      map_into<T>(y, x, [c](auto v) { return v * c; });
      return y;
    });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override { return {scale(dy, factor)}; }
};

struct Shift final : Op {  // y = x + term,  dx = dy
  double term;

  explicit Shift(double term) : term(term) {}
  const char* name() const override { return "shift"; }

  Tensor forward(const Tensor& x) {
    check_defined(name(), x);
    return dispatch_number(name(), x.dtype(), [&]<class T>() {
      const T c = as_element<T>(name(), x, term);
      Tensor y = Tensor::empty_like(x);
      map_into<T>(y, x, [c](auto v) { return v + c; });
      return y;
    });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override { return {dy}; }
};

struct Negative final : Op {
  const char* name() const override { return "negative"; }

  Tensor forward(const Tensor& x) {
    return map_numbers(name(), x, [](auto v) { return -v; });
  }

  Gradients backward(const Tensor& dy, const Wanted&) override { return {negative(dy)}; }
};

/// Maximum and minimum send the gradient to where the value came from, and half of it to each of a
/// tie. The share of a is constant almost everywhere, so it is no part of a second derivative.
struct Extremum : Op {
  Saved a, b;

  Gradients share_backward(const Tensor& dy, const Tensor& share_of_a, const Wanted& wants) const {
    Gradient da, db;
    if (wants(0)) da = dy * share_of_a;
    if (wants(1)) db = dy * (1.0 - share_of_a);
    return {da, db};
  }
};

struct Maximum final : Extremum {
  const char* name() const override { return "maximum"; }

  Tensor forward(const Tensor& left, const Tensor& right) {
    a = left;
    b = right;
    return zip(name(), left, right, [](auto u, auto v) { return u > v || u != u ? u : v; });
  }

  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    return share_backward(dy,
                          zip(name(), a.value(), b.value(),
                              [](auto u, auto v) {
                                using T = decltype(u);
                                return u > v || u != u ? T(1) : (u == v ? T(0.5) : T(0));
                              }),
                          wants);
  }
};

struct Minimum final : Extremum {
  const char* name() const override { return "minimum"; }

  Tensor forward(const Tensor& left, const Tensor& right) {
    a = left;
    b = right;
    return zip(name(), left, right, [](auto u, auto v) { return u < v || u != u ? u : v; });
  }

  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    return share_backward(dy,
                          zip(name(), a.value(), b.value(),
                              [](auto u, auto v) {
                                using T = decltype(u);
                                return u < v || u != u ? T(1) : (u == v ? T(0.5) : T(0));
                              }),
                          wants);
  }
};

struct To final : Op {
  Dtype from, wanted;

  explicit To(Dtype from, Dtype wanted) : from(from), wanted(wanted) {}
  const char* name() const override { return "to"; }
  Tensor forward(const Tensor& x) { return kernel::convert(x, wanted); }
  Gradients backward(const Tensor& dy, const Wanted&) override { return {gradus::to(dy, from)}; }
};

}  // namespace op

Tensor add(const Tensor& a, const Tensor& b) { return apply(op::Add{}, a, b); }
Tensor subtract(const Tensor& a, const Tensor& b) { return apply(op::Subtract{}, a, b); }
Tensor multiply(const Tensor& a, const Tensor& b) { return apply(op::Multiply{}, a, b); }
Tensor divide(const Tensor& a, const Tensor& b) { return apply(op::Divide{}, a, b); }
Tensor scale(const Tensor& x, double factor) { return apply(op::Scale{factor}, x); }
Tensor shift(const Tensor& x, double term) { return apply(op::Shift{term}, x); }
Tensor negative(const Tensor& x) { return apply(op::Negative{}, x); }
Tensor operator/(double c, const Tensor& x) { return scale(reciprocal(x), c); }
Tensor maximum(const Tensor& a, const Tensor& b) { return apply(op::Maximum{}, a, b); }
Tensor minimum(const Tensor& a, const Tensor& b) { return apply(op::Minimum{}, a, b); }

Tensor to(const Tensor& x, Dtype dtype) {
  check_defined("to", x);
  if (x.dtype() == dtype) return x;
  return apply(op::To{x.dtype(), dtype}, x);
}

namespace {

/// x becomes `value`: as a name for it, or, of a parameter, in place.
Tensor& assign(const char* op, Tensor& x, const Tensor& value) {
  if (!x.requires_grad() || !x.is_leaf()) return x = value;
  require<GraphError>(!GradMode::enabled(), op, ": ", x.shape(), " is a leaf whose gradient is ",
                      "wanted: change it under NoGrad, or name the result anew (x = x + y)");
  return x.copy_(value);
}

}  // namespace

Tensor& operator+=(Tensor& x, const Tensor& y) { return assign("+=", x, x + y); }
Tensor& operator-=(Tensor& x, const Tensor& y) { return assign("-=", x, x - y); }
Tensor& operator*=(Tensor& x, const Tensor& y) { return assign("*=", x, x * y); }
Tensor& operator/=(Tensor& x, const Tensor& y) { return assign("/=", x, x / y); }
Tensor& operator+=(Tensor& x, double y) { return assign("+=", x, x + y); }
Tensor& operator-=(Tensor& x, double y) { return assign("-=", x, x - y); }
Tensor& operator*=(Tensor& x, double y) { return assign("*=", x, x * y); }
Tensor& operator/=(Tensor& x, double y) { return assign("/=", x, x / y); }

}  // namespace gradus
