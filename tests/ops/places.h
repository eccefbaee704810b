// Samples of ops that only move elements.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "gradus/tests/support/registry.h"

namespace gradus::testing::places {

using Place = Sizes;

/// Returns a reference that lists source(x, position) for each position in `shape`, in row-major
/// order.
template <class Source>
Reference each(const Place& shape, Source source) {
  return [=]<class T>(const Arguments<T>& x) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    List<T> y;
    Place place(shape.size());
    for (std::int64_t k = 0; k < count; ++k) {
      std::int64_t rest = k;
      for (std::size_t a = shape.size(); a-- > 0; rest /= shape[a]) place[a] = rest % shape[a];
      y.push_back(source(x, place));
    }
    return y;
  };
}

/// Returns the element of x at `place`, with x viewed as `shape`.
template <class T>
T at(const Argument<T>& x, const Place& shape, const Place& place) {
  std::int64_t k = 0;
  for (std::size_t a = 0; a < shape.size(); ++a) k = k * shape[a] + place[a];
  return x.values[static_cast<std::size_t>(k)];
}

inline constexpr auto as_it_is = []<class T>(const Arguments<T>& x) { return x[0].values; };
inline constexpr auto nothing = []<class T>(const Arguments<T>&) { return List<T>(); };

inline void add(Samples& samples, std::string op, std::string what, Inputs inputs,
                std::function<Tensor(const Inputs&)> f, Reference reference,
                std::string function = {}) {
  samples.push_back({std::move(op),
                     std::move(what),
                     std::move(inputs),
                     std::move(f),
                     std::move(reference),
                     {},
                     true,
                     true,
                     false,
                     std::move(function)});
}

}  // namespace gradus::testing::places
