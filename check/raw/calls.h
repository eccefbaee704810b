// How a function is called: buffers for its arguments, of its parameters' types; what comes back.
#pragma once

#include "gradus/check/raw/arguments.h"
#include "gradus/check/raw/manifold.h"

namespace gradus::check {

/// One argument as it was given.
template <class A, bool Differentiable>
struct Given {
  using Type = A;
  static constexpr bool wanted = Differentiable;
  A value;
  std::string name = {};
  Shape shape = {};
  std::optional<Manifold> manifold = {};

  /// It lives on a manifold (manifold.h), and so do its steps and its gradient.
  Given on(Manifold m) const {
    Given result = *this;
    result.manifold = std::move(m);
    return result;
  }
  Given symmetric() const { return on(check::symmetric()); }
  Given positive() const { return on(check::positive()); }
};

/// What is known when the functions are called.
struct Plan {
  std::vector<std::string> names;
  std::vector<Layout> inputs;
  std::vector<Layout> gradients;  // those of the inputs, or of their tangent spaces
  std::vector<bool> wanted;
  Layout output;
  bool output_known = false;
  bool accumulates = false;
};

/// Buffers for what belongs to each input (or to each that wants a gradient), of the types that the
/// parameters of F have from number First on.
template <class F, std::size_t First, bool all, class... G>
auto buffers_for(const std::vector<Layout>& layouts, const Arguments& values) {
  constexpr std::array<bool, sizeof...(G)> taken{(all || G::wanted)...};
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return std::tuple_cat([&] {
      if constexpr (taken[K]) {
        constexpr auto at = std::count(taken.begin(), taken.begin() + K, true);
        using B = Buffer<Parameter<F, First + static_cast<std::size_t>(at),
                                   typename Writable<typename G::Type>::type>>;
        return std::tuple<B>(B(values[K], layouts[K]));
      } else {
        return std::tuple<>();
      }
    }()...);
  }
  (std::index_sequence_for<G...>{});
}

/// f with what the buffers of these tuples hold, one after the other.
template <class F, class... Buffers>
decltype(auto) call(F& f, Buffers&... buffers) {
  const auto references = [](auto& all) {
    return std::apply([](auto&... b) { return std::tie(b...); }, all);
  };
  return std::apply([&f](auto&... b) -> decltype(auto) { return f(b.pass()...); },
                    std::tuple_cat(references(buffers)...));
}

/// Calls read(part) for each of the gradients that a function returned: one, a tuple, a list.
/// Rows of rows are one gradient where one is wanted, and else one each.
template <class R, class Read>
void each_part(const R& r, bool rows_are_one, Read read) {
  if constexpr (Rows<R>) {
    if (rows_are_one) return read(r);
    for (const auto& part : r) read(part);
  } else if constexpr (Numbers<R>) {
    read(r);
  } else if constexpr (requires { std::tuple_size<R>::value; }) {
    std::apply([&read](const auto&... part) { (read(part), ...); }, r);
  } else {
    for (const auto& part : r) read(part);
  }
}

}  // namespace gradus::check
