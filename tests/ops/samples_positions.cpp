#include <cmath>

#include "gradus/ops/rotary.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using naive::at;
using naive::numbers;

struct Turned {
  std::int64_t B, H, T, D;
  std::vector<std::int64_t> positions;
  RotaryOptions options = {};
};

template <class N>
List<N> turn(const Turned& c, const List<N>& x) {
  List<N> y = x;
  for (std::int64_t row = 0; row < c.B * c.H * c.T; ++row) {
    const std::int64_t t = row % c.T, b = row / (c.H * c.T);
    const bool own = std::ssize(c.positions) != c.T;
    const auto position = static_cast<double>(c.positions[at(own ? b * c.T + t : t)]);
    for (std::int64_t i = 0; i < c.D / 2; ++i) {
      const double angle = position / std::pow(c.options.base, 2.0 * double(i) / double(c.D));
      const std::int64_t first = row * c.D + (c.options.interleaved ? 2 * i : i);
      const std::int64_t second = first + (c.options.interleaved ? 1 : c.D / 2);
      y[at(first)] = x[at(first)] * std::cos(angle) - x[at(second)] * std::sin(angle);
      y[at(second)] = x[at(second)] * std::cos(angle) + x[at(first)] * std::sin(angle);
    }
  }
  return y;
}

Sample turned(const char* what, const Turned& c) {
  return {.op = "flip",
          .what = what,
          .inputs = {values({c.B, c.H, c.T, c.D})},
          .f = [c](const Inputs& in) { return apply_rotary(in[0], c.positions, c.options); },
          .reference = [c]<class N>(const Arguments<N>& in) { return turn(c, numbers(in[0])); },
          .function = "apply_rotary"};
}

}  // namespace

Samples position_samples() {
  return {
      turned("pairs half a width apart", {2, 3, 5, 6, {0, 1, 2, 3, 4}}),
      turned("adjacent columns as pairs, another base", {1, 2, 3, 4, {7, 8, 9}, {100, true}}),
      turned("one position after a cache", {2, 1, 1, 4, {11}}),
      turned("positions of each example", {2, 1, 3, 2, {0, 1, 2, 4, 0, 9}}),
      turned("the smallest sizes", {1, 1, 1, 2, {3}}),
      turned("no positions", {1, 2, 0, 4, {}}),
  };
}

}  // namespace gradus::testing
