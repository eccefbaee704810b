// Element-wise arithmetic of two tensors, or of a tensor and a C++ number.
//
//   c = a + b    da = dc        db = dc
//   c = a − b    da = dc        db = −dc
//   c = a · b    da = dc · b    db = dc · a
//   c = a / b    da = dc / b    db = −(dc / b) · c
//
// The gradient of a broadcast operand is summed down to the operand's shape. An operand is saved
// only if the other requires a gradient. A number is stored in the op, not as a tensor.

#include "gradus/ops/arithmetic.h"

#include <cmath>
#include <utility>

#include "gradus/engine/apply.h"
#include "gradus/engine/base/vmath.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/create.h"
#include "gradus/ops/kernels/elementwise.h"
#include "gradus/ops/logic.h"

namespace gradus {
namespace op {

/// a + b. `buffer` is b's buffer if the result may overwrite it.
struct Add final : Op {
  Tensor buffer;

  const char* name() const override { return "add"; }
  Tensor forward(const Tensor& a, const Tensor& b) {
    const auto sum = [](auto u, auto v) { return u + v; };
    if (!buffer.defined()) return zip<Numbers::all>(name(), a, b, sum);
    Tensor y = std::exchange(buffer, {});
    dispatch_number(name(), y.dtype(), [&]<class T>() { zip_into<T>(y, a, b, sum); });
    return y;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {dy, dy}; }
};

struct Subtract final : Binary<Subtract, Numbers::all> {
  const char* name() const override { return "subtract"; }
  static GRADUS_INLINE auto value(auto a, auto b) { return a - b; }
  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    return {dy, needs_grad(1) ? negative(sum_to(dy, shape_of(1))) : Tensor()};
  }
};

struct Multiply final : Binary<Multiply, Numbers::all> {
  Saved a, b;

  const char* name() const override { return "multiply"; }
  static GRADUS_INLINE auto value(auto a, auto b) { return a * b; }
  void keep(const Tensor& left, const Tensor& right, const Tensor&) {
    if (right.requires_grad()) a = left;
    if (left.requires_grad()) b = right;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    return {needs_grad(0) ? dy * b.value() : Tensor(), needs_grad(1) ? dy * a.value() : Tensor()};
  }
};

struct Divide final : Binary<Divide> {
  Saved b, y;

  const char* name() const override { return "divide"; }
  static GRADUS_INLINE auto value(auto a, auto b) { return a / b; }
  void keep(const Tensor&, const Tensor& right, const Tensor& quotient) {
    b = right;
    if (right.requires_grad()) y = quotient;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    const Tensor slope = dy / b.value();
    return {slope, needs_grad(1) ? negative(sum_to(slope * attached(y), shape_of(1))) : Tensor()};
  }
};

struct Power final : Binary<Power> {  // y = xᵉ,  dx = dy · e xᵉ⁻¹,  de = dy · xᵉ log x
  Saved x, e, y;

  const char* name() const override { return "power"; }
  static GRADUS_INLINE auto value(auto x, auto e) { return vmath::pow(x, e); }
  void keep(const Tensor& base, const Tensor& exponent, const Tensor& result) {
    x = base;
    e = exponent;
    if (exponent.requires_grad()) y = result;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    const Tensor base = x.value(), exponent = e.value();
    const Tensor at_zero = equal(base, 0.0);
    const Tensor one = ones({}, dy.dtype());
    Gradient dx, de;
    if (needs_grad(0)) {
      // At x = e = 0, e xᵉ⁻¹ would be 0 · ∞.
      const Tensor lowered =
          where(logical_and(at_zero, equal(exponent, 0.0)), exponent, exponent - one);
      dx = dy * exponent * pow(base, lowered);
    }
    if (needs_grad(1)) de = dy * attached(y) * log(where(at_zero, one, base));
    return {dx, de};
  }
};

/// Converts the number to x's dtype. Throws DtypeError if an i64 tensor would lose a fraction.
template <class T>
T as_element(const char* op, const Tensor& x, Scalar number) {
  const double c = number.real();
  if constexpr (std::is_same_v<T, std::int64_t>) {
    if (number.is_integer()) return number.integer();
    require<DtypeError>(c == std::trunc(c) && std::abs(c) < 0x1p63, op, ": an i64 tensor ",
                        x.shape(), " needs an integer operand, got ", c,
                        ". Convert with to(x, Dtype::f32).");
  }
  return static_cast<T>(c);
}

template <class Self>
struct WithNumber : Op {
  Scalar number;

  explicit WithNumber(Scalar number) : number(number) {}
  Tensor forward(const Tensor& x) {
    check_defined(name(), x);
    return dispatch_number(name(), x.dtype(), [&]<class T>() {
      const T c = as_element<T>(name(), x, number);
      Tensor y = Tensor::empty_like(x);
      map_into<T>(y, x, [c](auto v) { return Self::value(v, c); });
      return y;
    });
  }
};

struct Scale final : WithNumber<Scale> {  // y = c · x,  dx = c · dy
  using WithNumber::WithNumber;
  const char* name() const override { return "scale"; }
  static GRADUS_INLINE auto value(auto x, auto c) { return x * c; }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {scale(dy, number)}; }
};

struct Shift final : WithNumber<Shift> {  // y = x + c,  dx = dy
  using WithNumber::WithNumber;
  const char* name() const override { return "shift"; }
  static GRADUS_INLINE auto value(auto x, auto c) { return x + c; }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {dy}; }
};

struct Negative final : Unary<Negative, Keeps::nothing, Numbers::all> {
  const char* name() const override { return "negative"; }
  static GRADUS_INLINE auto value(auto v) { return -v; }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {negative(dy)}; }
};

/// At a tie, each operand gets half of the gradient. Higher derivatives treat this factor as a
/// constant.
template <class Self>
struct Extremum : Binary<Self, Numbers::all> {
  Saved a, b;

  static GRADUS_INLINE auto value(auto a, auto b) { return Self::wins(a, b) || a != a ? a : b; }
  void keep(const Tensor& left, const Tensor& right, const Tensor&) {
    a = left;
    b = right;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    const Tensor share = zip(this->name(), a.value(), b.value(), [](auto u, auto v) {
      using T = decltype(u);
      return Self::wins(u, v) || u != u ? T(1) : (u == v ? T(0.5) : T(0));
    });
    return {needs_grad(0) ? dy * share : Tensor(), needs_grad(1) ? dy * (1.0 - share) : Tensor()};
  }
};

struct Maximum final : Extremum<Maximum> {
  const char* name() const override { return "maximum"; }
  static GRADUS_INLINE bool wins(auto a, auto b) { return a > b; }
};

struct Minimum final : Extremum<Minimum> {
  const char* name() const override { return "minimum"; }
  static GRADUS_INLINE bool wins(auto a, auto b) { return a < b; }
};

struct To final : Op {
  Dtype from, wanted;

  explicit To(Dtype from, Dtype wanted) : from(from), wanted(wanted) {}
  const char* name() const override { return "to"; }
  Tensor forward(const Tensor& x) { return kernel::convert(x, wanted); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {gradus::to(dy, from)}; }
};

}  // namespace op

Tensor add(const Tensor& a, const Tensor& b) { return apply(op::Add{}, a, b); }

Tensor operator+(const Tensor& a, Tensor&& b) {
  const bool is_parameter = b.requires_grad() && b.is_leaf();  // its values must remain readable
  const bool in_place = a.defined() && a.shape() == b.shape() && a.dtype() == b.dtype() &&
                        b.has_unique_storage() && b.is_contiguous() && !is_parameter &&
                        !Observers::read_values();
  if (!in_place) return add(a, b);
  const Tensor own = std::move(b);  // b becomes undefined
  op::Add sum;
  sum.buffer = own.detach();
  return apply(std::move(sum), a, own);
}

Tensor subtract(const Tensor& a, const Tensor& b) { return apply(op::Subtract{}, a, b); }
Tensor multiply(const Tensor& a, const Tensor& b) { return apply(op::Multiply{}, a, b); }
Tensor divide(const Tensor& a, const Tensor& b) { return apply(op::Divide{}, a, b); }
Tensor scale(const Tensor& x, Scalar factor) { return apply(op::Scale{factor}, x); }
Tensor shift(const Tensor& x, Scalar term) { return apply(op::Shift{term}, x); }
Tensor negative(const Tensor& x) { return apply(op::Negative{}, x); }
Tensor operator/(double c, const Tensor& x) { return scale(reciprocal(x), c); }
Tensor pow(const Tensor& x, const Tensor& exponent) { return apply(op::Power{}, x, exponent); }
Tensor maximum(const Tensor& a, const Tensor& b) { return apply(op::Maximum{}, a, b); }
Tensor minimum(const Tensor& a, const Tensor& b) { return apply(op::Minimum{}, a, b); }

Tensor to(const Tensor& x, Dtype dtype) {
  check_defined("to", x);
  if (x.dtype() == dtype) return x;
  return apply(op::To{x.dtype(), dtype}, x);
}

namespace {

/// Rebinds x to `value`, or copies in place if x is a parameter.
Tensor& assign(const char* op, Tensor& x, const Tensor& value) {
  if (!x.requires_grad() || !x.is_leaf()) return x = value;
  require<GraphError>(!GradMode::enabled(), op, ": ", x.shape(), " is a leaf that requires a ",
                      "gradient. Change it under NoGrad, or make a new tensor (x = x + y).");
  return x.copy_(value);
}

}  // namespace

Tensor& operator+=(Tensor& x, const Tensor& y) { return assign("+=", x, x + y); }
Tensor& operator-=(Tensor& x, const Tensor& y) { return assign("-=", x, x - y); }
Tensor& operator*=(Tensor& x, const Tensor& y) { return assign("*=", x, x * y); }
Tensor& operator/=(Tensor& x, const Tensor& y) { return assign("/=", x, x / y); }
Tensor& operator+=(Tensor& x, Scalar y) { return assign("+=", x, x + y); }
Tensor& operator-=(Tensor& x, Scalar y) { return assign("-=", x, x - y); }
Tensor& operator*=(Tensor& x, Scalar y) { return assign("*=", x, x * y); }
Tensor& operator/=(Tensor& x, double y) { return assign("/=", x, x / y); }

}  // namespace gradus
