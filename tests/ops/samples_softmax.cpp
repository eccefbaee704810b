// The references subtract no maximum, which is safe for these values.
#include <limits>

#include "gradus/ops/create.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/softmax.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using Count = std::size_t;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr auto softmax_of = []<class T>(const List<T>& row) {
  T total = 0;
  for (const T& v : row) total += math::exp(v);
  List<T> out;
  for (const T& v : row) out.push_back(total == 0 ? T(0) : math::exp(v) / total);
  return out;
};

constexpr auto log_softmax_of = []<class T>(const List<T>& row) {
  T total = 0;
  for (const T& v : row) total += math::exp(v);
  List<T> out;
  for (const T& v : row) out.push_back(total == 0 ? T(-kInfinity) : v - math::log(total));
  return out;
};

/// Applies of_row along the middle axis of [outer, n, inner].
template <class T>
List<T> along(const List<T>& x, Count outer, Count n, Count inner, const Generic<OfList>& of_row) {
  List<T> y(x.size());
  for (Count o = 0; o < outer; ++o)
    for (Count i = 0; i < inner; ++i) {
      List<T> row;
      for (Count k = 0; k < n; ++k) row.push_back(x[(o * n + k) * inner + i]);
      const List<T> made = of_row(row);
      for (Count k = 0; k < n; ++k) y[(o * n + k) * inner + i] = made[k];
    }
  return y;
}

struct Case {
  const char* op;
  Tensor (*f)(const Tensor& x, int axis);
  Generic<OfList> of_row;
};

struct Place {
  const char* what;
  Shape shape;
  int axis;
  Count outer, n, inner;
};

Sample plain(const Case& c, const Place& p) {
  return {c.op,
          p.what,
          {values(p.shape, p.axis + 3)},
          [c, p](const Inputs& x) { return c.f(x[0], p.axis); },
          [c, p]<class T>(const Arguments<T>& x) {
            return along(x[0].values, p.outer, p.n, p.inner, c.of_row);
          }};
}

Sample transposed(const Case& c) {
  return {c.op,
          "a transposed view, 5 x 3",
          {values({3, 5})},
          [c](const Inputs& x) { return c.f(transpose(x[0]), -1); },
          [c]<class T>(const Arguments<T>& x) {
            const List<T> from = x[0].values;
            List<T> turned;
            for (Count j = 0; j < 5; ++j)
              for (Count i = 0; i < 3; ++i) turned.push_back(from[i * 5 + j]);
            return along(turned, 5, 3, 1, c.of_row);
          }};
}

Sample every_second(const Case& c) {
  return {c.op,
          "every second element, from the third on",
          {values({2, 11})},
          [c](const Inputs& x) { return c.f(slice(x[0], 1, 2, 11, 2), 1); },
          [c]<class T>(const Arguments<T>& x) {
            const List<T> from = x[0].values;
            List<T> some;
            for (Count i = 0; i < 2; ++i)
              for (Count j = 2; j < 11; j += 2) some.push_back(from[i * 11 + j]);
            return along(some, 2, 5, 1, c.of_row);
          }};
}

Sample repeated(const Case& c) {
  return {c.op,
          "one row expanded to three",
          {values({1, 5})},
          [c](const Inputs& x) {
            return c.f(expand(x[0], {3, 5}), 1);
          },
          [c]<class T>(const Arguments<T>& x) {
            const List<T> from = x[0].values;
            List<T> three;
            for (int k = 0; k < 3; ++k) three.insert(three.end(), from.begin(), from.end());
            return along(three, 3, 5, 1, c.of_row);
          }};
}

/// Sets parts of some rows and one entire row to −∞. log_softmax is compared where it is finite.
Sample masked(const Case& c) {
  const Tensor hidden = tensor({{0, 1, 0, 0, 1}, {1, 1, 1, 1, 1}, {1, 0, 0, 0, 1}}) > 0.5;
  const bool log = c.op == std::string("log_softmax");
  return {c.op,
          "masked positions and a fully masked row",
          {values({3, 5})},
          [=](const Inputs& x) {
            const Tensor y = c.f(masked_fill(x[0], hidden, -kInfinity), -1);
            return log ? masked_fill(y, hidden, 7) : y;
          },
          [=]<class T>(const Arguments<T>& x) {
            List<T> from = x[0].values;
            const std::vector<bool> gone = hidden.to_vector<bool>();
            for (Count i = 0; i < from.size(); ++i)
              if (gone[i]) from[i] = -kInfinity;
            List<T> y = along(from, 3, 5, 1, c.of_row);
            for (Count i = 0; i < y.size(); ++i)
              if (log && gone[i]) y[i] = 7.0;
            return y;
          }};
}

}  // namespace

Samples softmax_samples() {
  const std::vector<Place> places = {
      {"the last axis", {3, 5}, -1, 3, 5, 1},
      {"the middle of three axes", {2, 5, 3}, 1, 2, 5, 3},
      {"the first axis, counted from the end", {5, 2, 3}, -3, 1, 5, 6},
      {"one row longer than two vectors", {1, 53}, 1, 1, 53, 1},
      {"rows of one vector", {2, 16}, 1, 2, 16, 1},
      {"rows of one element", {5, 1}, 1, 5, 1, 1},
      {"rank 1", {7}, 0, 1, 7, 1},
      {"rank 0", {}, -1, 1, 1, 1},
      {"no rows", {0, 3}, 1, 0, 3, 1},
      {"empty rows", {3, 0}, 1, 3, 0, 1},
  };
  Samples samples;
  for (const Case& c :
       {Case{"softmax", softmax, softmax_of}, Case{"log_softmax", log_softmax, log_softmax_of}}) {
    for (const Place& p : places) samples.push_back(plain(c, p));
    for (Sample (*made)(const Case&) : {transposed, every_second, repeated, masked})
      samples.push_back(made(c));
  }
  return samples;
}

}  // namespace gradus::testing
