// References: ops in naive loops, written once for every number type.
//
//   Reference square_of = []<class T>(const Arguments<T>& x) {
//     List<T> y = x[0].values;
//     for (T& v : y) v *= v;
//     return y;
//   };
//
// A reference shares no code with the op: no tensor, no kernel, no vmath. It runs on double, on
// dual numbers for derivatives, and on duals of duals for second derivatives. The duals contain
// bounded numbers, which track the rounding error.
#pragma once

#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include "gradus/tests/support/bounded.h"
#include "gradus/tests/support/dual.h"

namespace gradus::testing {

template <class T>
using List = std::vector<T>;
using Sizes = std::vector<std::int64_t>;

/// A row-major input. One of the two lists contains its values.
template <class T>
struct Argument {
  Sizes shape;
  List<T> values;                      // f32, f64
  std::vector<std::int64_t> integers;  // i64, or bool as 0 and 1
};
template <class T>
using Arguments = std::vector<Argument<T>>;

template <class T>
struct NumberOf {
  using type = T;
};
template <class T>
struct NumberOf<Argument<T>> {
  using type = T;
};
template <class T>
struct NumberOf<std::vector<T>> : NumberOf<T> {};

template <class T>
using number_of = typename NumberOf<T>::type;

using First = math::Dual<math::Bounded>;
using Second = math::Dual<First>;

/// A generic lambda, type-erased for each number type.
template <template <class> class Signature>
class Generic {
 public:
  Generic() = default;
  template <class F>
  Generic(F f) : each_(f, f, f) {}  // implicit, like std::function

  template <class A, class... Rest>
  auto operator()(const A& first, const Rest&... rest) const {
    return std::get<std::function<Signature<number_of<A>>>>(each_)(first, rest...);
  }

 private:
  std::tuple<std::function<Signature<double>>, std::function<Signature<First>>,
             std::function<Signature<Second>>>
      each_;
};

template <class T>
using OfInputs = List<T>(const Arguments<T>&);
template <class T>
using OfList = List<T>(const List<T>&);
template <class T>
using ListToNumber = T(const List<T>&);
template <class T>
using OfOne = T(const T&);
template <class T>
using OfTwo = T(const T&, const T&);

using Reference = Generic<OfInputs>;

}  // namespace gradus::testing
