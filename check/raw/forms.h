// Functions that are not two free functions: members, and one that gives the value and writes the
// gradient in one call.
#pragma once

#include "gradus/check/raw/adapter.h"

namespace gradus::check {

/// A member function of this object, which must outlive the check: raw("f", method(&C::f, c), …).
template <class C, class R, class... A>
auto method(R (C::*f)(A...) const, const C& object) {
  return [f, &object](A... a) -> R { return (object.*f)(std::forward<A>(a)...); };
}
template <class C, class R, class... A>
auto method(R (C::*f)(A...), C& object) {
  return [f, &object](A... a) -> R { return (object.*f)(std::forward<A>(a)...); };
}

/// f(x, gradient), or f(x, &gradient), which returns the value and writes the gradient.
template <class F>
class ValueAndGradient {
 public:
  using X = std::tuple_element_t<0, typename SignatureOf<F>::Parameters>;
  using P = std::tuple_element_t<1, typename SignatureOf<F>::Parameters>;
  static constexpr bool by_address = std::is_pointer_v<P> && !std::is_arithmetic_v<Pointee<P>>;

  ValueAndGradient(F f, const Layout& layout) : f_(std::move(f)), layout_(layout) {}

  auto value() const {
    return [self = *this](const X& x) mutable { return self.both(x).first; };
  }
  auto gradient() const {
    return [self = *this](const X& x) mutable { return self.both(x).second; };
  }

 private:
  std::pair<double, Values> both(const X& x) {
    Buffer<std::conditional_t<by_address, Pointee<P>, P>> g(
        Values(count_of(layout_.shape), std::numeric_limits<double>::quiet_NaN()), layout_);
    const double y = [&] {
      if constexpr (by_address)
        return static_cast<double>(f_(x, &g.pass()));
      else
        return static_cast<double>(f_(x, g.pass()));
    }();
    g.inspect("the function", "its gradient", true);
    return {y, g.numbers()};
  }

  F f_;
  Layout layout_;
};

/// Does D write to its second and last parameter, and return a value?
template <class D>
constexpr bool value_and_gradient() {
  if constexpr (Plain<D>) {
    using S = SignatureOf<D>;
    if constexpr (S::arity == 2 && std::is_arithmetic_v<typename S::Result>) {
      using P = std::tuple_element_t<1, typename S::Declared>;
      return (std::is_lvalue_reference_v<P> && !std::is_const_v<std::remove_reference_t<P>>) ||
             (std::is_pointer_v<P> && !std::is_const_v<std::remove_pointer_t<P>>);
    }
  }
  return false;
}

/// Is F a function that takes these inputs, and writes or returns what it gives?
template <class F, class... G>
constexpr bool takes() {
  if constexpr (!(requires { typename G::Type; } && ...)) {
    return false;  // that was said
  } else if constexpr (Plain<F>) {
    return SignatureOf<F>::arity ==
           sizeof...(G) + (std::is_void_v<typename SignatureOf<F>::Result> ? 1 : 0);
  } else {
    return std::is_invocable_v<F&, typename G::Type&...>;
  }
}

}  // namespace gradus::check
