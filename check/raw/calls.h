// How a function is called: buffers for its arguments, of its parameters' types; what comes back.
#pragma once

#include "gradus/check/raw/arguments.h"

namespace gradus::check {

/// One argument as it was given.
template <class A, bool Differentiable>
struct Given {
  using Type = A;
  static constexpr bool wanted = Differentiable;
  A value;
  std::string name = {};
  Shape shape = {};
};

/// What is known when the functions are called.
struct Plan {
  std::vector<std::string> names;
  std::vector<Layout> inputs;
  std::vector<bool> wanted;
  Layout output;
  bool output_known = false;
  bool accumulates = false;
};

/// Buffers for the inputs, as the parameters of F want them.
template <class F, class... G>
auto inputs_of(const Plan& plan, const Arguments& in) {
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return std::tuple<Buffer<Parameter<F, K, typename Kinds<typename G::Type>::Read>>...>(
        Buffer<Parameter<F, K, typename Kinds<typename G::Type>::Read>>(in[K], plan.inputs[K])...);
  }
  (std::index_sequence_for<G...>{});
}

/// Buffers for one gradient (or direction, or Jacobian) of each input that wants one; the first of
/// them is parameter number First of F.
template <class F, std::size_t First, bool Read, class... G>
auto gradients_of(const std::vector<Layout>& layouts, const Arguments& start) {
  constexpr std::array<bool, sizeof...(G)> wanted{G::wanted...};
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return std::tuple_cat([&] {
      if constexpr (wanted[K]) {
        constexpr auto at =
            First + static_cast<std::size_t>(std::count(wanted.begin(), wanted.begin() + K, true));
        using A = typename G::Type;
        using Own = std::conditional_t<Read, typename Kinds<A>::Read, typename Kinds<A>::Write>;
        using B = Buffer<Parameter<F, at, Own>>;
        return std::tuple<B>(B(start[K], layouts[K]));
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
template <class R, class Read>
void each_part(const R& r, Read read) {
  if constexpr (Numbers<R>) {
    read(r);
  } else if constexpr (requires { std::tuple_size<R>::value; }) {
    std::apply([&read](const auto&... part) { (read(part), ...); }, r);
  } else {
    for (const auto& part : r) read(part);
  }
}

}  // namespace gradus::check
