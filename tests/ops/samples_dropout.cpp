// The function of each sample has its own generator, so that every call drops the same elements.
#include <cstdint>

#include "gradus/engine/base/random.h"
#include "gradus/ops/dropout.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

/// Keeps an element as x / (1 − p) if the stream's word / 2³² is at least p.
template <class T>
List<T> dropped(const List<T>& x, double p, std::uint64_t seed) {
  const RandomStream stream = Generator(seed).next();
  List<T> y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool kept = stream.word(static_cast<std::int64_t>(i)) / 4294967296.0 >= p;
    y.push_back(kept ? x[i] / (1 - p) : T(0));
  }
  return y;
}

Sample plain(const char* what, const Shape& shape, double p) {
  return {"dropout",
          what,
          {values(shape)},
          [p](const Inputs& x) {
            Generator own(7);
            const GeneratorScope scope(own);
            return dropout(x[0], p);
          },
          [p]<class T>(const Arguments<T>& x) { return dropped(x[0].values, p, 7); }};
}

Sample transposed() {
  return {"dropout",
          "a transposed view, indexed like a copy",
          {values({5, 3})},
          [](const Inputs& x) {
            Generator own(11);
            const GeneratorScope scope(own);
            return dropout(transpose(x[0]), 0.375);
          },
          []<class T>(const Arguments<T>& x) {
            const List<T> from = x[0].values;
            List<T> turned;
            for (std::size_t j = 0; j < 3; ++j)
              for (std::size_t i = 0; i < 5; ++i) turned.push_back(from[i * 3 + j]);
            return dropped(turned, 0.375, 11);
          }};
}

}  // namespace

Samples dropout_samples() {
  return {
      plain("half of the elements", {3, 7}, 0.5),
      plain("few elements kept", {2, 3, 5}, 0.875),
      plain("rank 0", {}, 0.25),
      plain("no elements", {0, 3}, 0.25),
      transposed(),
  };
}

}  // namespace gradus::testing
