// Accepts xarray and xtensor as inputs and results, with their shapes.
#pragma once

#include <xtensor/xarray.hpp>
#include <xtensor/xtensor.hpp>

#include "gradus/check/raw/arrays.h"

namespace gradus::check {

/// Access to an xtensor container of type A (see Array).
template <class A>
struct XtensorArray {
  using Number = typename A::value_type;
  static constexpr bool shaped = true;
  static Layout layout(const A& a) {
    Layout result{{}, a.layout() == xt::layout_type::column_major};
    for (const auto n : a.shape()) result.shape.push_back(static_cast<std::int64_t>(n));
    return result;
  }
  template <class B>
  static auto& at(B& a, std::size_t i) {
    return a.storage()[i];
  }
  static A sized(const Layout& l) {
    A a;
    a.resize(std::vector<std::size_t>(l.shape.begin(), l.shape.end()));
    return a;
  }
};
template <class S, xt::layout_type L, class Sizes, class Tag>
struct Array<xt::xarray_container<S, L, Sizes, Tag>>
    : XtensorArray<xt::xarray_container<S, L, Sizes, Tag>> {};
template <class S, std::size_t N, xt::layout_type L, class Tag>
struct Array<xt::xtensor_container<S, N, L, Tag>>
    : XtensorArray<xt::xtensor_container<S, N, L, Tag>> {};

}  // namespace gradus::check
