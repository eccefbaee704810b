// Tests every reduction on the same geometries. References receive the elements of each group as a
// list.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "gradus/ops/create.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

/// Returns the elements of each group that is reduced to one result. `axes` must be nonnegative; if
/// empty, all axes are reduced.
template <class T>
std::vector<List<T>> groups(const List<T>& x, const std::vector<std::int64_t>& shape,
                            const std::vector<int>& axes) {
  const auto gone = [&](std::size_t axis) {
    const int a = static_cast<int>(axis);
    return axes.empty() || std::find(axes.begin(), axes.end(), a) != axes.end();
  };
  std::size_t count = 1;
  for (std::size_t a = 0; a < shape.size(); ++a)
    if (!gone(a)) count *= static_cast<std::size_t>(shape[a]);
  std::vector<List<T>> out(count);
  for (std::size_t k = 0; k < x.size(); ++k) {
    std::size_t rest = k, group = 0, weight = 1;
    for (std::size_t a = shape.size(); a-- > 0;) {
      const auto size = static_cast<std::size_t>(shape[a]);
      if (!gone(a)) group += rest % size * weight, weight *= size;
      rest /= size;
    }
    out[group].push_back(x[k]);
  }
  return out;
}

template <class T>
T total(const List<T>& x) {
  return std::accumulate(x.begin(), x.end(), T(0));
}

template <class T>
T squares_about(const List<T>& x, const T& center) {
  T s = 0;
  for (const T& v : x) s += (v - center) * (v - center);
  return s;
}

template <class T>
T variance(const List<T>& x, int correction) {
  const double n = static_cast<double>(x.size());
  return squares_about(x, total(x) / n) / (n - correction);
}

struct Case {
  std::string op;
  std::function<Tensor(const Tensor&, const Axes&, bool)> f;
  Generic<ListToNumber> of_group;
  bool of_one = true;  // false if each group needs at least two elements
};

std::vector<Case> cases() {
  return {
      {"sum", sum, [](const auto& x) { return total(x); }},
      {"mean", mean, [](const auto& x) { return total(x) / static_cast<double>(x.size()); }},
      {"var", [](const Tensor& x, const Axes& a, bool k) { return var(x, a, k); },
       [](const auto& x) { return variance(x, 1); }, false},
      {"var", [](const Tensor& x, const Axes& a, bool k) { return var(x, a, k, 0); },
       [](const auto& x) { return variance(x, 0); }},
      {"std", [](const Tensor& x, const Axes& a, bool k) { return std(x, a, k); },
       [](const auto& x) { return math::sqrt(variance(x, 1)); }, false},
      {"std", [](const Tensor& x, const Axes& a, bool k) { return std(x, a, k, 0); },
       [](const auto& x) { return math::sqrt(variance(x, 0)); }, false},
      {"max", max, [](const auto& x) { return *std::max_element(x.begin(), x.end()); }},
      {"min", min, [](const auto& x) { return *std::min_element(x.begin(), x.end()); }},
      {"logsumexp", logsumexp,
       []<class T>(const List<T>& x) {
         T s = 0;
         for (const T& v : x) s += math::exp(v);
         return math::log(s);
       }},
      {"prod", prod,
       []<class T>(const List<T>& x) {
         return std::accumulate(x.begin(), x.end(), T(1), std::multiplies<>());
       }},
      {"norm", norm, []<class T>(const List<T>& x) { return math::sqrt(squares_about(x, T(0))); }},
  };
}

/// An input shape, and the view of it that f reduces.
struct Geometry {
  std::string what;
  std::vector<std::int64_t> shape, seen;
  std::vector<int> axes;
  bool keepdim;
  bool one;  // true if groups have one element
  std::function<Tensor(const Tensor&)> view;
  Generic<OfList> view_values;
};

Tensor same(const Tensor& x) { return x; }
constexpr auto same_values = [](const auto& x) { return x; };

constexpr auto transposed = []<class T>(const List<T>& x) {  // [3, 5] → [5, 3]
  List<T> y;
  for (std::size_t j = 0; j < 5; ++j)
    for (std::size_t i = 0; i < 3; ++i) y.push_back(x[i * 5 + j]);
  return y;
};

constexpr auto expanded = []<class T>(const List<T>& x) {  // [3, 1, 2] → [3, 4, 2]
  List<T> y;
  for (std::size_t i = 0; i < 3; ++i)
    for (int repeat = 0; repeat < 4; ++repeat) y.insert(y.end(), {x[2 * i], x[2 * i + 1]});
  return y;
};

constexpr auto halved = []<class T>(const List<T>& x) {  // [4, 7] → columns 1, 3, 5: [4, 3]
  List<T> y;
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 1; j < 7; j += 2) y.push_back(x[i * 7 + j]);
  return y;
};

std::vector<Geometry> geometries() {
  return {
      {"all axes", {3, 5}, {3, 5}, {}, false, false, same, same_values},
      {"all axes, kept", {2, 3, 2}, {2, 3, 2}, {}, true, false, same, same_values},
      {"last axis, longer than the lanes", {2, 37}, {2, 37}, {1}, false, false, same, same_values},
      {"first axis", {5, 7}, {5, 7}, {0}, false, false, same, same_values},
      {"middle axis, kept", {2, 5, 3}, {2, 5, 3}, {1}, true, false, same, same_values},
      {"two separate axes", {3, 2, 5}, {3, 2, 5}, {0, 2}, false, false, same, same_values},
      {"two leading axes, kept", {2, 3, 5}, {2, 3, 5}, {0, 1}, true, false, same, same_values},
      {"axes around an axis of size 1",
       {2, 1, 3, 2},
       {2, 1, 3, 2},
       {0, 2},
       false,
       false,
       same,
       same_values},
      {"rank 0", {}, {}, {}, false, true, same, same_values},
      {"groups of one", {3, 1, 2}, {3, 1, 2}, {1}, false, true, same, same_values},
      {"a transposed view, last axis",
       {3, 5},
       {5, 3},
       {1},
       false,
       false,
       [](const Tensor& x) { return transpose(x); },
       transposed},
      {"a transposed view, first axis, kept",
       {3, 5},
       {5, 3},
       {0},
       true,
       false,
       [](const Tensor& x) { return transpose(x); },
       transposed},
      {"an expanded view, over the repeats",
       {3, 1, 2},
       {3, 4, 2},
       {1, 2},
       false,
       false,
       [](const Tensor& x) {
         return expand(x, {3, 4, 2});
       },
       expanded},
      {"a view with gaps",
       {4, 7},
       {4, 3},
       {1},
       false,
       false,
       [](const Tensor& x) { return slice(x, 1, 1, 7, 2); },
       halved},
  };
}

Sample sample(const Case& c, const Geometry& g) {
  Axes axes;
  for (const int axis : g.axes) axes.push_back(axis);
  Sample s;
  s.op = c.op;
  s.what = g.what;
  s.inputs = {values(Shape(std::span(g.shape)))};
  s.f = [f = c.f, view = g.view, axes, keepdim = g.keepdim](const Inputs& x) {
    return f(view(x[0]), axes, keepdim);
  };
  s.reference = [of_group = c.of_group, g]<class T>(const Arguments<T>& x) {
    List<T> y;
    for (const List<T>& group : groups(g.view_values(x[0].values), g.seen, g.axes))
      y.push_back(of_group(group));
    return y;
  };
  return s;
}

/// Returns rows with zero, one and two zeros.
Tensor with_zeros(const std::vector<std::size_t>& places) {
  List<double> x = values({3, 4}).to_vector<double>();
  for (const std::size_t k : places) x[k] = 0;
  return tensor(x, {3, 4});
}

void add_zeros(Samples& samples) {
  const auto products = []<class T>(const Arguments<T>& x) {
    const List<T> v = x[0].values;
    return List<T>{v[0] * v[1] * v[2] * v[3], v[4] * v[5] * v[6] * v[7],
                   v[8] * v[9] * v[10] * v[11]};
  };
  const auto rows = [](const Inputs& x) { return prod(x[0], {-1}); };
  samples.push_back(
      {"prod", "rows with no, one and two zeros", {with_zeros({5, 8, 11})}, rows, products});
  samples.push_back({"prod", "a row with three zeros", {with_zeros({0, 1, 2})}, rows, products});
  samples.push_back({"sum",
                     "over an axis of size 0",
                     {values({2, 0, 3})},
                     [](const Inputs& x) { return sum(x[0], {1}); },
                     []<class T>(const Arguments<T>&) { return List<T>(6, T(0)); }});
  samples.push_back({"prod",
                     "over an axis of size 0",
                     {values({2, 0})},
                     [](const Inputs& x) { return prod(x[0], {1}, true); },
                     []<class T>(const Arguments<T>&) { return List<T>(2, T(1)); }});
  samples.push_back({"mean",
                     "no groups",
                     {values({0, 3})},
                     [](const Inputs& x) { return mean(x[0], {1}); },
                     []<class T>(const Arguments<T>&) { return List<T>(); }});
}

void add_cumsum(Samples& samples) {
  const auto reference = [](const std::vector<std::size_t>& shape, std::size_t axis) {
    return [=]<class T>(const Arguments<T>& x) {
      List<T> y = x[0].values;
      std::size_t stride = 1;
      for (std::size_t a = axis + 1; a < shape.size(); ++a) stride *= shape[a];
      for (std::size_t k = 0; k < y.size(); ++k)
        if (k / stride % shape[axis] > 0) y[k] += y[k - stride];
      return y;
    };
  };
  samples.push_back({"cumsum",
                     "last axis",
                     {values({3, 7})},
                     [](const Inputs& x) { return cumsum(x[0], -1); },
                     reference({3, 7}, 1)});
  samples.push_back({"cumsum",
                     "middle axis",
                     {values({2, 5, 3})},
                     [](const Inputs& x) { return cumsum(x[0], 1); },
                     reference({2, 5, 3}, 1)});
  samples.push_back({"cumsum",
                     "first axis, size 1",
                     {values({1, 4})},
                     [](const Inputs& x) { return cumsum(x[0], 0); },
                     reference({1, 4}, 0)});
  samples.push_back({"cumsum",
                     "size 0",
                     {values({2, 0})},
                     [](const Inputs& x) { return cumsum(x[0], 1); },
                     reference({2, 0}, 1)});
  samples.push_back({"cumsum",
                     "a transposed view",
                     {values({3, 5})},
                     [](const Inputs& x) { return cumsum(transpose(x[0]), 1); },
                     []<class T>(const Arguments<T>& x) {  // y[j, i] = Σ_{k ≤ i} x[k, j]
                       const List<T> v = x[0].values;
                       List<T> y;
                       for (std::size_t j = 0; j < 5; ++j)
                         for (std::size_t i = 0; i < 3; ++i)
                           y.push_back((i > 0 ? y.back() : T(0)) + v[i * 5 + j]);
                       return y;
                     }});
}

}  // namespace

Samples reduce_samples() {
  Samples samples;
  for (const Case& c : cases())
    for (const Geometry& g : geometries())
      if (c.of_one || !g.one) samples.push_back(sample(c, g));
  add_zeros(samples);
  add_cumsum(samples);
  return samples;
}

}  // namespace gradus::testing
