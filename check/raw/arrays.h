// Array types for functions under test: scalars, containers, spans, rows of rows, matrices with
// data(), rows() and cols(), and user-defined types.
#pragma once

#include <concepts>
#include <iterator>
#include <span>
#include <type_traits>

#include "gradus/check/raw/values.h"

namespace gradus::check {

struct Layout {
  Dims shape = {};
  bool column_major = false;

  std::size_t position(std::size_t i) const {
    if (!column_major) return i;
    const Dims at = index_of(i, shape);
    std::int64_t result = 0;
    for (std::size_t axis = shape.size(); axis-- > 0;) result = result * shape[axis] + at[axis];
    return static_cast<std::size_t>(result);
  }
};

/// Access to the values of an A. Specialize it for custom types, as in check/adapters:
///   Number                         element type
///   shaped                         true if the type has a shape, not only a length
///   Layout layout(const A&)
///   auto& at(A& a, std::size_t i)  element i in memory order; also for const A
///   A sized(const Layout&)         creates an A of this shape; optional
template <class A>
struct Array {};

/// Implements Array for a struct whose members all have type T:
///   template <> struct gradus::check::Array<Pose> : check::Fields<Pose, double> {};
template <class S, class T>
struct Fields {
  static_assert(std::is_trivially_copyable_v<S> && sizeof(S) % sizeof(T) == 0,
                "a struct counts as an array only if all its members have the same type");
  using Number = T;
  static constexpr bool shaped = false;
  static Layout layout(const S&) { return {{sizeof(S) / sizeof(T)}, false}; }
  static T& at(S& s, std::size_t i) { return reinterpret_cast<T*>(&s)[i]; }
  static const T& at(const S& s, std::size_t i) { return reinterpret_cast<const T*>(&s)[i]; }
  static S sized(const Layout&) { return S(); }
};

template <class A>
requires std::is_arithmetic_v<A>
struct Array<A> {
  using Number = A;
  static constexpr bool shaped = false;
  static Layout layout(A) { return {}; }
  template <class B>
  static B& at(B& a, std::size_t) {
    return a;
  }
  static A sized(const Layout&) { return A(); }
};

template <class M>
concept MatrixLike = requires(const M& m) {
  m.data();
  m.rows();
  m.cols();
};

/// True if the matrix type is row-major: M::IsRowMajor, or true by default. Specialize it for other
/// types.
template <class M>
inline constexpr bool row_major = true;
template <class M>
requires requires { M::IsRowMajor; }
inline constexpr bool row_major<M> = static_cast<bool>(M::IsRowMajor);

template <MatrixLike M>
struct Array<M> {
  using Number = std::remove_cvref_t<decltype(*std::declval<const M&>().data())>;
  static constexpr bool shaped = true;
  static Layout layout(const M& m) {
    return {{static_cast<std::int64_t>(m.rows()), static_cast<std::int64_t>(m.cols())},
            !row_major<M>};
  }
  template <class N>
  static auto& at(N& m, std::size_t i) {
    return m.data()[i];
  }
  static M sized(const Layout& l) requires std::is_constructible_v<M, std::int64_t, std::int64_t> {
    return M(l.shape.at(0), l.shape.size() > 1 ? l.shape[1] : 1);
  }
};

template <class A>
concept Contiguous = !MatrixLike<A> && requires(const A& a) {
  requires std::is_arithmetic_v<std::remove_cvref_t<decltype(*std::data(a))>>;
  std::size(a);
};

template <Contiguous A>
struct Array<A> {
  using Number = std::remove_cvref_t<decltype(*std::data(std::declval<const A&>()))>;
  static constexpr bool shaped = false;
  static Layout layout(const A& a) { return {{static_cast<std::int64_t>(std::size(a))}, false}; }
  template <class B>
  static auto& at(B& a, std::size_t i) {
    return std::data(a)[i];
  }
  static A sized(const Layout& l) requires std::is_default_constructible_v<A> {
    A a{};
    if constexpr (requires { a.resize(count_of(l.shape)); }) a.resize(count_of(l.shape));
    return a;
  }
};

template <class A>
concept NestedRows = requires(const A& a) {
  requires Contiguous<std::remove_cvref_t<decltype(*std::data(a))>>;
  std::size(a);
};

template <NestedRows A>
struct Array<A> {
  using Row = std::remove_cvref_t<decltype(*std::data(std::declval<const A&>()))>;
  using Number = typename Array<Row>::Number;
  static constexpr bool shaped = true;
  /// Treats rows of different lengths as one axis.
  static Layout layout(const A& a) {
    std::size_t all = 0;
    for (const Row& row : a) all += std::size(row);
    const auto rows = static_cast<std::int64_t>(std::size(a));
    const auto columns = rows > 0 ? static_cast<std::int64_t>(std::size(*std::data(a))) : 0;
    if (rows * columns != static_cast<std::int64_t>(all))
      return {{static_cast<std::int64_t>(all)}, false};
    return {{rows, columns}, false};
  }
  template <class B>
  static auto& at(B& a, std::size_t i) {
    std::size_t row = 0;
    for (; i >= std::size(std::data(a)[row]); ++row) i -= std::size(std::data(a)[row]);
    return std::data(std::data(a)[row])[i];
  }
  static A sized(const Layout& l) requires std::is_default_constructible_v<A> {
    A a{};
    if constexpr (requires { a.resize(1); }) a.resize(static_cast<std::size_t>(l.shape.at(0)));
    for (Row& row : a)
      if constexpr (requires { row.resize(1); })
        row.resize(static_cast<std::size_t>(l.shape.at(1)));
    return a;
  }
};

template <class A>
concept NumberArray = requires {
  typename Array<std::remove_cv_t<A>>::Number;
};

template <class A>
using NumberOf = typename Array<std::remove_cv_t<std::remove_pointer_t<A>>>::Number;

template <class A>
Layout layout_of(const A& a) {
  if constexpr (NumberArray<A>) return Array<A>::layout(a);
  return {};  // numbers_of reports the mismatch
}

/// Returns the values in row-major order. A flat array is read as `layout` if its size matches.
template <class A>
Values numbers_of(const A& a, Layout layout) {
  constexpr bool taken = NumberArray<A>;
  static_assert(
      taken,
      "a function must return a type that inputs may have: a number, a vector, array "
      "or span of numbers, rows of rows, or a matrix. Return several gradients as a tuple or a "
      "vector of these types");
  if constexpr (taken) {
    const Layout own = layout_of(a);
    if constexpr (Array<A>::shaped) layout = own;
    Values result(count_of(own.shape));
    const bool fits = count_of(layout.shape) == result.size();
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = static_cast<double>(Array<A>::at(a, fits ? layout.position(i) : i));
    return result;
  }
  return {};
}

}  // namespace gradus::check
