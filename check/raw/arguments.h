// Calls a function under test with arguments of its parameter types. Pointers and spans refer to
// guarded memory; containers are constructed.
#pragma once

#include <functional>
#include <tuple>

#include "gradus/check/raw/arrays.h"
#include "gradus/check/raw/manifold.h"

namespace gradus::check {

template <class A, bool Differentiable>
struct Given {
  using Type = A;
  static constexpr bool wanted = Differentiable;
  A value;
  std::string name = {};
  Dims shape = {};
  std::optional<Manifold> manifold = {};

  Given on(Manifold m) const {
    Given result = *this;
    result.manifold = std::move(m);
    return result;
  }
  Given symmetric() const { return on(check::symmetric()); }
  Given positive() const { return on(check::positive()); }
};

template <class A>
inline constexpr bool is_span = false;
template <class T, std::size_t N>
inline constexpr bool is_span<std::span<T, N>> = true;

template <class P>
using Pointee = std::remove_cv_t<std::remove_pointer_t<P>>;

/// True for spans and pointers to numbers.
template <class A>
inline constexpr bool is_view = is_span<A> ||
                                (std::is_pointer_v<A> && std::is_arithmetic_v<Pointee<A>>);

/// An argument of type A. Memory behind pointers and spans has guard zones.
template <class A>
class GuardedArray {
 public:
  using T = NumberOf<A>;
  using Container = Pointee<A>;

  GuardedArray(const Values& values, Layout layout)
      : layout_(std::move(layout)), size_(values.size()) {
    if constexpr (is_view<A>) {
      memory_.assign(size_ + 2 * kGuard, kCanary);
    } else {
      object_ = Array<Container>::sized(layout_);
      if constexpr (Array<Container>::shaped)
        layout_.column_major = layout_of(object_).column_major;
    }
    if (size() != size_)
      throw BadInput(joined("a parameter takes ", size(), " values, but got ", size_));
    for (std::size_t i = 0; i < size_; ++i) at(layout_.position(i)) = static_cast<T>(values[i]);
    before_ = numbers();
  }

  decltype(auto) pass() {
    if constexpr (is_span<A>) {
      return A(memory_.data() + kGuard, size_);
    } else if constexpr (is_view<A>) {
      return memory_.data() + kGuard;
    } else if constexpr (std::is_pointer_v<A>) {
      return &object_;
    } else {
      return (object_);
    }
  }

  Values numbers() const {
    Values result(size());
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = static_cast<double>(at(size() == size_ ? layout_.position(i) : i));
    return result;
  }

  /// Throws Damage if the function wrote out of bounds, or to an array that is not writable.
  void inspect(const std::string& function, const std::string& name, bool writable) const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if ((i >= kGuard && i < kGuard + size_) || memory_[i] == kCanary) continue;
      throw Damage(joined(function, " writes ", i < kGuard ? "before the start" : "past the end",
                          " of ", name, ", which has ", size_, " elements: at [",
                          static_cast<std::int64_t>(i) - static_cast<std::int64_t>(kGuard), "]"));
    }
    const Values now = writable ? before_ : numbers();
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (i < now.size() && (now[i] == before_[i] || before_[i] != before_[i])) continue;
      throw Damage(function + " changes " + name + ", which it must only read: element " +
                   list(index_of(i, layout_.shape)) + " was " + number(before_[i], 7) +
                   (i < now.size() ? " and is " + number(now[i], 7) : ""));
    }
  }

 private:
  static constexpr std::size_t kGuard = 32;  // elements per side
  static constexpr T kCanary = static_cast<T>(-113.0625);

  T& at(std::size_t i) {
    if constexpr (is_view<A>)
      return memory_[kGuard + i];
    else
      return Array<Container>::at(object_, i);
  }
  const T& at(std::size_t i) const { return const_cast<GuardedArray*>(this)->at(i); }
  std::size_t size() const {
    if constexpr (is_view<A>)
      return size_;
    else
      return count_of(layout_of(object_).shape);
  }

  struct Nothing {};
  Layout layout_;
  std::size_t size_;
  std::conditional_t<is_view<A>, Nothing, Container> object_ = {};
  std::vector<T> memory_;
  Values before_;
};

/// Functions with known parameter types: neither overloaded nor templates.
template <class F>
concept Plain = requires(F f) {
  std::function{f};
};

template <class R, class... A>
struct Signature {
  using Result = R;
  using Declared = std::tuple<A...>;
  using Parameters = std::tuple<std::remove_cvref_t<A>...>;
  static constexpr std::size_t arity = sizeof...(A);
};
template <class R, class... A>
Signature<R, A...> signature_of(const std::function<R(A...)>&);
template <Plain F>
using SignatureOf = decltype(signature_of(std::function{std::declval<F>()}));

/// The type of F's K-th parameter, or Own if unknown.
template <class F, std::size_t K, class Own>
struct ParameterOf {
  using type = Own;
};
template <Plain F, std::size_t K, class Own>
requires(K < SignatureOf<F>::arity) struct ParameterOf<F, K, Own> {
  using P = std::tuple_element_t<K, typename SignatureOf<F>::Parameters>;
  // Own replaces types that have no constructor from a shape (Eigen::Ref).
  static constexpr bool made = is_view<P> || requires(const Layout& layout) {
    Array<Pointee<P>>::sized(layout);
  };
  using type = std::conditional_t<made, P, Own>;
};
template <class F, std::size_t K, class Own>
using Parameter = typename ParameterOf<F, K, Own>::type;

/// A, except that a span of const elements becomes a span of mutable ones.
template <class A>
struct Writable {
  using type = A;
};
template <class T, std::size_t N>
struct Writable<std::span<T, N>> {
  using type = std::span<std::remove_const_t<T>>;
};

/// Creates arrays for all inputs, or only for the differentiable ones. Their types are those of F's
/// parameters, starting with parameter First.
template <class F, std::size_t First, bool all, class... G>
auto arrays_for(const std::vector<Layout>& layouts, const Arguments& values) {
  constexpr std::array<bool, sizeof...(G)> taken{(all || G::wanted)...};
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return std::tuple_cat([&] {
      if constexpr (taken[K]) {
        constexpr auto at = std::count(taken.begin(), taken.begin() + K, true);
        using A = GuardedArray<Parameter<F, First + static_cast<std::size_t>(at),
                                         typename Writable<typename G::Type>::type>>;
        return std::tuple<A>(A(values[K], layouts[K]));
      } else {
        return std::tuple<>();
      }
    }()...);
  }
  (std::index_sequence_for<G...>{});
}

template <class F, class... Tuples>
decltype(auto) call(F& f, Tuples&... tuples) {
  const auto references = [](auto& all) {
    return std::apply([](auto&... arrays) { return std::tie(arrays...); }, all);
  };
  return std::apply([&f](auto&... arrays) -> decltype(auto) { return f(arrays.pass()...); },
                    std::tuple_cat(references(tuples)...));
}

/// Calls read(part) for each returned gradient. r may be one gradient, a tuple, or a list.
template <class R, class Read>
void each_part(const R& r, bool rows_are_one, Read read) {
  if constexpr (NestedRows<R>) {
    if (rows_are_one) return read(r);
    for (const auto& part : r) read(part);
  } else if constexpr (NumberArray<R>) {
    read(r);
  } else if constexpr (requires { std::tuple_size<R>::value; }) {
    std::apply([&read](const auto&... part) { (read(part), ...); }, r);
  } else {
    for (const auto& part : r) read(part);
  }
}

}  // namespace gradus::check
