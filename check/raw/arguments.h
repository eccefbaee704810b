// The arrays that functions under test may take: scalars, vectors, arrays, spans, pointers, and
// anything with data(), rows() and cols(), as Eigen's matrices have.
//
// A function whose parameter is a pointer or a span gets memory of the checker, with guard zones on
// both sides; one that takes a container gets a container.
#pragma once

#include <concepts>
#include <iterator>
#include <span>
#include <tuple>
#include <type_traits>

#include "gradus/check/raw/options.h"

namespace gradus::check {

template <class M>
concept MatrixLike = requires(const M& m) {
  m.data();
  m.rows();
  m.cols();
};

/// How a matrix type lays out its elements: M::IsRowMajor, or else row-major. Specialise it for
/// another type.
template <class M>
inline constexpr bool row_major = true;
template <class M>
requires requires { M::IsRowMajor; }
inline constexpr bool row_major<M> = static_cast<bool>(M::IsRowMajor);

template <class A>
inline constexpr bool is_span = false;
template <class T, std::size_t N>
inline constexpr bool is_span<std::span<T, N>> = true;

/// Does a function that takes an A see memory of the checker?
template <class A>
inline constexpr bool is_view = std::is_pointer_v<A> || is_span<A>;

template <class A>
auto* data_of(A& a) {
  if constexpr (std::is_arithmetic_v<std::remove_const_t<A>>) {
    return &a;
  } else {
    return a.data();
  }
}

template <class A>
concept Numbers = std::is_arithmetic_v<A> || MatrixLike<A> || requires(const A& a) {
  { *std::data(a) } -> std::convertible_to<double>;
  std::size(a);
};

template <class A>
struct ElementOf {
  using type = std::remove_cvref_t<decltype(*data_of(std::declval<A&>()))>;
};
template <class T>
struct ElementOf<T*> {
  using type = std::remove_cv_t<T>;
};
template <class A>
using Element = typename ElementOf<A>::type;

/// A shape and whether it lies in memory column by column.
struct Layout {
  Shape shape = {};
  bool column_major = false;

  /// Where row-major element i stands.
  std::size_t position(std::size_t i) const {
    if (!column_major) return i;
    const Shape at = index_of(i, shape);
    return element_at({at.rbegin(), at.rend()}, {shape.rbegin(), shape.rend()});
  }
};

template <class A>
Layout layout_of(const A& a) {
  if constexpr (std::is_arithmetic_v<A>) {
    return {};
  } else if constexpr (MatrixLike<A>) {
    return {{static_cast<std::int64_t>(a.rows()), static_cast<std::int64_t>(a.cols())},
            !row_major<A>};
  } else {
    return {{static_cast<std::int64_t>(std::size(a))}, false};
  }
}

template <class A>
std::size_t size_of(const A& a) {
  return count_of(layout_of(a).shape);
}

/// The numbers of a row-major, whatever it is. A flat one lies as `layout` says, if it fits.
template <Numbers A>
Values numbers_of(const A& a, Layout layout) {
  if constexpr (MatrixLike<A>) layout = layout_of(a);
  Values result(size_of(a));
  const bool fits = count_of(layout.shape) == result.size();
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = static_cast<double>(data_of(a)[fits ? layout.position(i) : i]);
  return result;
}

/// An array that a function under test is given, as the type A of its parameter.
template <class A>
class Buffer {
 public:
  using T = Element<A>;

  Buffer(const Values& values, const Layout& layout) : layout_(layout), size_(values.size()) {
    if constexpr (is_view<A>) {
      memory_.assign(size_ + 2 * kGuard, kCanary);
    } else if constexpr (MatrixLike<A>) {
      object_ = A(layout.shape.at(0), layout.shape.size() > 1 ? layout.shape[1] : 1);
      layout_.column_major = !row_major<A>;
    } else if constexpr (requires { object_.resize(size_); }) {
      object_.resize(size_);
    }
    if (size() != size_)
      throw BadInput(joined("a parameter takes ", size(), " numbers, and is given ", size_));
    for (std::size_t i = 0; i < size_; ++i) data()[layout_.position(i)] = static_cast<T>(values[i]);
    before_ = numbers();
  }

  /// What the function is called with.
  decltype(auto) pass() {
    if constexpr (std::is_pointer_v<A>) {
      return data();
    } else if constexpr (is_span<A>) {
      return A(data(), size_);
    } else {
      return (object_);
    }
  }

  Values numbers() const {
    Values result(size());
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = static_cast<double>(data()[size() == size_ ? layout_.position(i) : i]);
    return result;
  }

  /// Throws Damage if something was written outside, and, if nothing may be written, inside.
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
      throw Damage(function + " changes " + name + ", which it may only read: element " +
                   list(index_of(i, layout_.shape)) + " was " + number(before_[i], 7) +
                   (i < now.size() ? " and is " + number(now[i], 7) : ""));
    }
  }

 private:
  static constexpr std::size_t kGuard = 32;  // elements on each side
  static constexpr T kCanary = static_cast<T>(-113.0625);

  T* data() {
    if constexpr (is_view<A>)
      return memory_.data() + kGuard;
    else
      return data_of(object_);
  }
  const T* data() const { return const_cast<Buffer*>(this)->data(); }
  std::size_t size() const {
    if constexpr (is_view<A>)
      return size_;
    else
      return size_of(object_);
  }

  struct Nothing {};
  Layout layout_;
  std::size_t size_;
  std::conditional_t<is_view<A>, Nothing, A> object_{};
  std::vector<T> memory_;
  Values before_;
};

/// Functions whose parameters can be read: not overloaded, no templates, no `auto` parameters.
template <class F>
concept Plain = requires(F f) {
  std::function{f};
};

template <class R, class... A>
struct Signature {
  using Result = R;
  using Parameters = std::tuple<std::remove_cvref_t<A>...>;
  static constexpr std::size_t arity = sizeof...(A);
};
template <class R, class... A>
Signature<R, A...> signature_of(const std::function<R(A...)>&);
template <Plain F>
using SignatureOf = decltype(signature_of(std::function{std::declval<F>()}));

/// The type as which F is given its K-th argument: that of its parameter, or else Own.
template <class F, std::size_t K, class Own>
struct ParameterOf {
  using type = Own;
};
template <Plain F, std::size_t K, class Own>
requires(K < SignatureOf<F>::arity) struct ParameterOf<F, K, Own> {
  using P = std::tuple_element_t<K, typename SignatureOf<F>::Parameters>;
  // What cannot be made of sizes and numbers (Eigen::Ref) is made of the caller's own type.
  static constexpr bool made =
      std::is_pointer_v<P> || is_span<P> || std::is_arithmetic_v<P> ||
      (MatrixLike<P> ? std::is_constructible_v<P, std::int64_t, std::int64_t>
                     : std::is_default_constructible_v<P> && Numbers<P>);
  using type = std::conditional_t<made, P, Own>;
};
template <class F, std::size_t K, class Own>
using Parameter = typename ParameterOf<F, K, Own>::type;

/// A, or a span of what can be written.
template <class A>
struct Writable {
  using type = A;
};
template <class T, std::size_t N>
struct Writable<std::span<T, N>> {
  using type = std::span<std::remove_const_t<T>>;
};

}  // namespace gradus::check
