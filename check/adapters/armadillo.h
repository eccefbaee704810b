// Accepts Armadillo's Mat, Col and Row as inputs and results, in column-major order.
#pragma once

#include <armadillo>

#include "gradus/check/raw/arrays.h"

namespace gradus::check {

template <class A>
requires arma::is_Mat<A>::value struct Array<A> {
  using Number = typename A::elem_type;
  static constexpr bool shaped = true;
  static Layout layout(const A& a) {
    const auto rows = static_cast<std::int64_t>(a.n_rows),
               columns = static_cast<std::int64_t>(a.n_cols);
    if constexpr (arma::is_Mat_only<A>::value) return {{rows, columns}, true};
    return {{rows * columns}, false};
  }
  template <class B>
  static auto& at(B& a, std::size_t i) {
    return a.memptr()[i];
  }
  static A sized(const Layout& l) {
    if constexpr (arma::is_Mat_only<A>::value)
      return A(static_cast<arma::uword>(l.shape.at(0)),
               l.shape.size() > 1 ? static_cast<arma::uword>(l.shape[1]) : 1);
    else
      return A(static_cast<arma::uword>(count_of(l.shape)));
  }
};

}  // namespace gradus::check
